import { sql } from 'kysely'
import type { Actor } from '../access/actor.ts'
import { aliasTaken, ForeignKeyViolation, UniqueViolation, validationFailed } from '../errors.ts'
import { createdEvent, updatedEvent } from '../events/event.ts'
import { recordEvents } from '../events/log.ts'
import { composeText, foldCase } from '../lib/text.ts'
import { addressKey } from '../names/alias.ts'
import { countedMatches, type Db, parts, type Storage } from '../storage/port.ts'
import { firstRevision, newTimes, Records, type Times, type Versioned } from '../storage/records.ts'
import { CachedQuery, query, type Row, sqlTemplate } from '../storage/schema.ts'
import { Refusal, type Violation } from '../violations.ts'
import { changeAddresses, lockForAddresses, type MovedLink, type NewAddress } from './addresses.ts'
import { generateAlias, generatedLength } from './link.ts'
import {
  type ChangedLink,
  changedColumns,
  changesDestinations,
  foldedDestinations,
  type NamedAlias,
  newRow,
} from './link-rows.ts'
import { setTags, tagsOfLink } from './link-tags.ts'
import { type LinkRow, type LinkValues, linkColumns, linkEvents, type NewLink } from './schema.ts'

type Totals = Pick<Row<'link_clicks'>, 'clicks' | 'bots' | 'previews' | 'last_clicked_ms'>

/** The history of an imported link. */
export type LinkHistory = Readonly<Totals> & Times

/** A domain that a link may be stored on. */
export interface LinkDomain {
  readonly id: number
  /** In ASCII. */
  readonly name: string
}

/** Values from other tables. A space that is being removed counts as none. */
export const computed = {
  domain_name: '(select name from domains where id = links.domain_id and account_id = links.account_id)',
  tags: tagsOfLink,
  space_id: '(select id from spaces where id = links.space_id and account_id = links.account_id)',
  clicks: '(select clicks from link_clicks where link_id = links.id)',
  last_clicked_ms: '(select last_clicked_ms from link_clicks where link_id = links.id)',
}

export const linkRecords = new Records<LinkRow>('links', linkColumns, computed)

/** SQL for the links whose domain is not being removed. */
export const hasDomain = sql<boolean>`exists (
  select 1 from domains where id = links.domain_id and account_id = links.account_id)`

/** A link with its clicks of bots and previews. */
export type LinkWithTotals = LinkRow & Readonly<Totals>

const linksWithTotals = new Records<LinkWithTotals>('links', [...linkColumns, 'bots', 'previews'], {
  ...computed,
  bots: '(select bots from link_clicks where link_id = links.id)',
  previews: '(select previews from link_clicks where link_id = links.id)',
})

/** Links that one statement updates, so that no request waits for it. */
const settleBatchSize = 200

/** Updates the statuses of the account's links that changed with time, in batches. */
export async function settleStatuses(db: Db, account: number): Promise<void> {
  const now = new Date().toISOString()
  const due = query.selectFrom('links').select('id').where('account_id', '=', account).where('status_due_at', '<=', now)
  // Usually nothing is due, and a read does not wait for writers.
  if ((await db.execute(due.limit(1))).length === 0) return
  const isOver = sql`active_period_end_at <= ${now} or ${sql.raw(computed.clicks)} >= clicks_limit`
  const settle = query
    .updateTable('links')
    .set({
      status: sql`case when disabled = 1 then 'disabled' when ${isOver} then 'expired'
        when active_period_start_at > ${now} then 'scheduled' else 'active' end`,
      status_due_at: sql`case when disabled = 1 or ${isOver} then null
        when active_period_start_at > ${now} then active_period_start_at else active_period_end_at end`,
    })
    .where('account_id', '=', account)
    .where('id', 'in', due.orderBy('status_due_at').limit(settleBatchSize))
    .returning('id')
  let settled: number
  do {
    // Serializable, because a statement that waited for a click would still read the previous number of clicks.
    settled = (await db.write((tx) => tx.execute(settle), 'serializable')).length
  } while (settled === settleBatchSize)
}

/** Finds the account's link with this id. */
export async function findLink(db: Db, account: number, id: number): Promise<Versioned<LinkRow> | undefined> {
  return served(await linkRecords.find(db, account, id))
}

/** Finds the link as `findLink` does, and locks it until the end of the transaction, which can then change it. */
export async function findLinkForUpdate(tx: Db, account: number, id: number): Promise<Versioned<LinkRow> | undefined> {
  await lockLinks(tx, account, [id])
  return findLink(tx, account, id)
}

/**
 * Locks the account's links with these ids until the end of the transaction, in the order of every transaction: links by id,
 * then tags. Otherwise two transactions could wait for each other. Links are read after that: on PostgreSQL, a statement that
 * has waited for a lock still sees the previous tags.
 */
export async function lockLinks(tx: Db, account: number, ids: readonly number[]): Promise<void> {
  for (const some of parts(ids.toSorted((a, b) => a - b))) {
    const own = () => query.selectFrom('links').select('id').where('account_id', '=', account).where('id', 'in', some)
    const build = () => own().orderBy('id').forUpdate()
    await tx.execute(new CachedQuery(`lock ${some.length} links`, [account, ...some], build))
  }
}

/** Lists the account's links with ids above `after`, in the order of ids; `limit` at most. */
export function linksAfter(db: Db, account: number, after: number, limit: number): Promise<LinkWithTotals[]> {
  return linksWithTotals.listAfter(db, account, after, limit)
}

/** An address that an alias reaches. The id is null for the main address. */
interface ReachedAddress {
  readonly link: number
  readonly id: number | null
}

/**
 * Lists the account's addresses that this alias reaches on this or, if it is null, any domain; `limit` at most. Exact ones come
 * first, and then main ones.
 */
export async function findAddressesByAlias(
  db: Db,
  account: number,
  alias: string,
  domain: number | null,
  limit = 1,
): Promise<ReachedAddress[]> {
  const text = composeText(alias)
  const keys = [addressKey(text, true), addressKey(text, false)]
  const mainId = sql<number | null>`cast(null as bigint)`.as('id')
  const main = query.selectFrom('links').select(['id as link', mainId, 'alias_folded', sql<number>`0`.as('further')])
  const further = query
    .selectFrom('link_addresses')
    .select(['link_id as link', 'id', 'alias_folded', sql<number>`1`.as('further')])
    .where('account_id', '=', account)
    .where('alias_folded', 'in', keys)
  const named = main.where('account_id', '=', account).where('alias_folded', 'in', keys)
  const all =
    domain === null
      ? named.unionAll(further)
      : named.where('domain_id', '=', domain).unionAll(further.where('domain_id', '=', domain))
  return db.execute(all.orderBy('alias_folded', 'desc').orderBy('further').orderBy('link').limit(limit))
}

/** Lists the account's links with an address that this alias reaches: see `findAddressesByAlias`. */
export async function findLinksByAlias(
  db: Db,
  account: number,
  alias: string,
  domain: number | null,
  limit = 1,
): Promise<LinkRow[]> {
  const reached = await findAddressesByAlias(db, account, alias, domain, limit)
  const ids = [...new Set(reached.map(({ link }) => link))]
  const links = await Promise.all(ids.map((id) => findLink(db, account, id)))
  return links.flatMap((link) => (link === undefined ? [] : [link.record]))
}

/**
 * Counts the links of each of these domains or spaces of the account, by its id. As in the list of links, a number above
 * `countedMatches` stands for any higher one. Counts for a whole page would block the event loop, so another thread counts.
 */
export async function countLinksIn(
  storage: Storage,
  account: number,
  by: 'domain_id' | 'space_id',
  ids: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  if (ids.length === 0) return new Map()
  const owners = by === 'domain_id' ? 'domains' : 'spaces'
  const counted = sql`select 1 from links where account_id = ${sql.ref(`${owners}.account_id`)}
    and ${sql.ref(by)} = ${sql.ref(`${owners}.id`)} limit ${sql.lit(countedMatches + 1)}`
  const rows = await storage.scan(
    account,
    query
      .selectFrom(owners)
      .select(['id', sql<number>`(select count(*) from (${counted}) as counted)`.as('links')])
      .where('account_id', '=', account)
      .where('id', 'in', ids),
  )
  return new Map(rows.map(([id, links]) => [Number(id), Number(links)]))
}

/** Finds the account's domain with this id or name, or its oldest domain if `id` is null. */
export async function findLinkDomain(
  db: Db,
  account: number,
  id: number | string | null,
): Promise<LinkDomain | undefined> {
  const domains = () => query.selectFrom('domains').select(['id', 'name']).where('account_id', '=', account)
  if (id === null) return (await db.execute(domains().orderBy('id').limit(1)))[0]
  const found =
    typeof id === 'string'
      ? domains().where('name', '=', id)
      : new CachedQuery<LinkDomain>('domain of link', [account, id], () => domains().where('id', '=', id))
  return (await db.execute(found))[0]
}

/** Returns the id of the account's space with this id, or of the oldest with this name, case-insensitively. */
export async function findLinkSpace(db: Db, account: number, id: number | string): Promise<number | undefined> {
  const spaces = query.selectFrom('spaces').select('id').where('account_id', '=', account)
  const found =
    typeof id === 'number'
      ? spaces.where('id', '=', id)
      : spaces.where('name_folded', '=', foldCase(id)).orderBy('id').limit(1)
  return (await db.execute(found))[0]?.id
}

/** Returns the violation for a domain that the account does not have, whether or not another account has it. */
export function unknownDomain(id: number): Violation {
  return new Refusal('unknown_domain', { id }).at('domain_id')
}

/** Returns the violation for a space that the account does not have, whether or not another account has it. */
export function unknownSpace(id: number): Violation {
  return new Refusal('unknown_space', { id }).at('space_id')
}

/** Generated aliases of one length that may be taken before longer aliases are tried. */
export const clashesPerLength = 3

/**
 * Stores a link on a domain of the actor's account, with a generated alias if `alias` is null; an imported link keeps its
 * history. Throws `alias_taken` if the domain has a link with the alias in any case: the unique index decides. Throws
 * `validation_failed` if the domain or the space is gone.
 */
export async function insertLink(
  db: Db,
  actor: Actor,
  domain: LinkDomain,
  { alias, ...values }: LinkValues & Pick<NewLink, 'alias'> & Pick<NamedAlias, 'legacy'>,
  history?: LinkHistory,
): Promise<Versioned<LinkRow>> {
  const { account } = actor
  for (let clashes = 0; ; clashes++) {
    const name = alias ?? generateAlias(generatedLength + Math.floor(clashes / clashesPerLength))
    const stored = await tryInsert(db, actor, domain, { ...values, alias: name }, history)
    if (stored !== undefined) return stored
    const { space_id } = values
    if ((await findLinkDomain(db, account, domain.id)) === undefined) throw validationFailed([unknownDomain(domain.id)])
    const isSpaceGone = space_id !== null && (await findLinkSpace(db, account, space_id)) === undefined
    if (isSpaceGone) throw validationFailed([unknownSpace(space_id)])
    if (alias !== null) throw aliasTaken(alias)
  }
}

/** Returns undefined if the alias is taken, or if the domain or the space is gone. */
async function tryInsert(
  db: Db,
  actor: Actor,
  domain: LinkDomain,
  { tags, ...values }: LinkValues & NamedAlias,
  history: LinkHistory | undefined,
): Promise<Versioned<LinkRow> | undefined> {
  const { account } = actor
  const { created_at, updated_at, ...totals } = history ?? { ...noClicks, ...newTimes() }
  const row = newRow(account, domain, values, { created_at, updated_at }, totals)
  const keys = [addressKey(values.alias, false), addressKey(values.alias, true)]
  const condition = sqlTemplate<boolean>`
    exists (select 1 from domains where id = ${domain.id} and account_id = ${account})
    and (cast(${values.space_id} as bigint) is null
      or exists (select 1 from spaces where id = ${values.space_id} and account_id = ${account}))
    and not exists (select 1 from links where domain_id = ${domain.id} and alias_folded in (${keys[0]}, ${keys[1]})
      and (alias_folded = ${row.alias_folded} or alias = ${values.alias}))
    and not exists (select 1 from link_addresses
      where domain_id = ${domain.id} and alias_folded in (${keys[0]}, ${keys[1]})
      and (alias_folded = ${row.alias_folded} or alias = ${values.alias}))`
  try {
    return await db.write(async (tx) => {
      if (values.exact) await lockForAddresses(tx, account, [domain.id])
      const id = await linkRecords.insertIf(tx, row, condition)
      if (id === undefined) return undefined
      if (history !== undefined) {
        await tx.execute(query.updateTable('link_clicks').set(totals).where('link_id', '=', id))
      }
      if (tags.length > 0) await setTags(tx, actor, id, tags)
      // The names have the spelling of the tags.
      const stored = tags.length > 0 ? await findLink(tx, account, id) : newLinkRecord(id, row, domain, null, totals)
      if (stored !== undefined) await recordEvents(tx, actor, [createdEvent(linkEvents, stored.record)])
      return stored
    })
  } catch (error) {
    if (error instanceof UniqueViolation) throw aliasTaken(values.alias)
    // The domain or the space was deleted during the insertion.
    if (!(error instanceof ForeignKeyViolation)) throw error
    const isSpace = values.space_id !== null && error.constraint?.includes('space_id')
    throw validationFailed([isSpace ? unknownSpace(values.space_id ?? 0) : unknownDomain(domain.id)])
  }
}

/** Returns the record of a link that has just been stored. `tags` has the names with commas between them. */
export function newLinkRecord(
  id: number,
  row: ReturnType<typeof newRow>,
  domain: LinkDomain,
  tags: string | null,
  totals = noClicks,
): Versioned<LinkRow> {
  const record = { id, ...row, ...totals, tags, domain_name: domain.name, revision: firstRevision }
  return linkRecords.toVersioned(record)
}

const noClicks: Totals = { clicks: 0, bots: 0, previews: 0, last_clicked_ms: null }

/** What happens to the further addresses of a changed link. */
interface AddressOptions {
  /** Whether the previous main address becomes a further one. */
  readonly keep_address?: boolean | undefined
  /** The further addresses afterwards, for an undo. */
  readonly addresses?: readonly NewAddress[] | undefined
}

/**
 * Changes the actor's link, as `Records.change` does. `before` is the link, which is locked, and so is a new domain. Throws
 * `alias_taken`, or `validation_failed` if the space is gone or a tag is unknown.
 */
export async function changeLink(
  tx: Db,
  actor: Actor,
  before: LinkRow,
  { tags, keep_address = false, addresses, ...change }: ChangedLink & AddressOptions,
): Promise<Versioned<LinkRow> | undefined> {
  const { id } = before
  const { columns, unversioned } = changedColumns(change)
  const url_folded = changesDestinations(change)
    ? foldedDestinations({
        url: change.url ?? before.url,
        rules: change.rules === undefined ? before.rules : change.rules,
      })
    : undefined
  try {
    const moved = await moveLink(tx, actor, before, { ...change, keep_address, addresses })
    const isChanged = tags !== undefined && (await setTags(tx, actor, id, tags))
    const all = { ...columns, ...moved?.columns, url_folded }
    const link = served(await linkRecords.change(tx, actor.account, id, all, { unversioned, isChanged }))
    if (link === undefined) return undefined
    const after = { ...link.record, addresses: moved?.addresses.after ?? null }
    const event = updatedEvent(linkEvents, { ...before, addresses: moved?.addresses.before ?? null }, after)
    await recordEvents(tx, actor, [event])
    return link
  } catch (error) {
    if (error instanceof UniqueViolation) throw aliasTaken(change.alias ?? before.alias)
    if (error instanceof ForeignKeyViolation) throw validationFailed([unknownSpace(change.space_id ?? 0)])
    throw error
  }
}

/** Changes the main address of a link if the change requires it. Throws `alias_taken` and `validation_failed`. */
async function moveLink(
  tx: Db,
  { account }: Actor,
  before: LinkRow,
  { alias, exact: isExact, domain_id, addresses, keep_address = false }: ChangedLink & AddressOptions,
): Promise<MovedLink | undefined> {
  const exact = isExact === undefined ? undefined : Boolean(isExact)
  const isMoved = [alias, exact, domain_id, addresses].some((value) => value !== undefined)
  if (!isMoved) return undefined
  const change = { alias, exact, domain_id, addresses, keepsAddress: keep_address }
  const { moved, clashing } = await changeAddresses(tx, account, [before], change)
  const failure = clashing.get(before.id)
  if (failure !== undefined) throw failure
  return moved.get(before.id)
}

/** Returns undefined for a link whose domain is being removed. */
function served(found: Versioned<LinkRow> | undefined): Versioned<LinkRow> | undefined {
  return found?.record.domain_name == null ? undefined : found
}
