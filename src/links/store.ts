import { sql } from 'kysely'
import { composeText, foldCase } from '../lib/text.ts'
import { countedMatches, type Db, parts, type Storage } from '../storage/port.ts'
import { firstRevision, Records, type Versioned } from '../storage/records.ts'
import { CachedQuery, query, type Row } from '../storage/schema.ts'
import { Refusal, type Violation } from '../violations.ts'
import { tagsOfLink } from './link-tags.ts'
import { type LinkRow, linkColumns } from './schema.ts'

/** A link's clicks. */
export type ClickTotals = Pick<Row<'link_clicks'>, 'clicks' | 'bots' | 'previews' | 'last_clicked_ms'>

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
export type LinkWithTotals = LinkRow & Readonly<ClickTotals>

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
  const [locked] = await lockLinks(tx, account, [id])
  return locked === undefined ? undefined : findLink(tx, account, locked)
}

/**
 * Locks the account's links with these ids until the end of the transaction, in the order of every transaction: links by id,
 * then tags. Otherwise two transactions could wait for each other. Links are read after that: on PostgreSQL, a statement that
 * has waited for a lock still sees the previous tags. Returns the ids of the locked links: another one may be restored before it
 * is read, and must not be changed.
 */
export async function lockLinks(tx: Db, account: number, ids: readonly number[]): Promise<number[]> {
  const locked: number[] = []
  for (const some of parts(ids.toSorted((a, b) => a - b))) {
    const own = () => query.selectFrom('links').select('id').where('account_id', '=', account).where('id', 'in', some)
    const build = () => own().orderBy('id').forUpdate()
    const rows = await tx.execute(
      new CachedQuery<{ id: number }>(`lock ${some.length} links`, [account, ...some], build),
    )
    for (const { id } of rows) locked.push(id)
  }
  return locked
}

/** Lists the account's links with ids above `after`, in the order of ids; `limit` at most. */
export function linksAfter(db: Db, account: number, after: number, limit: number): Promise<LinkWithTotals[]> {
  return linksWithTotals.listAfter(db, account, after, limit)
}

/** An address that an alias reaches. */
interface ReachedAddress {
  readonly link: number
  readonly id: number
  readonly main: boolean
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
  const own = query.selectFrom('domains').select('id').where('account_id', '=', account)
  const domains = domain === null ? own : own.where('id', '=', domain)
  const reached = query
    .selectFrom('addresses')
    .select(['link_id as link', 'id', 'main', 'exact'])
    .where('domain_id', 'in', domains)
  // Each part has the condition of an index.
  const exactly = reached.where('alias', '=', text).where('exact', '=', sql.lit(1))
  const folded = reached.where('alias_folded', '=', foldCase(text)).where('exact', '=', sql.lit(0))
  const all = folded.unionAll(exactly)
  const ordered = all.orderBy('exact', 'desc').orderBy('main', 'desc').orderBy('link').limit(limit)
  return (await db.execute(ordered)).map(({ link, id, main }) => ({ link, id, main: main === 1 }))
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

/** Returns the record of a link that has just been stored. `tags` has the names with commas between them. */
export function newLinkRecord(
  id: number,
  row: Readonly<Omit<Row<'links'>, 'id' | 'revision'>>,
  domain: LinkDomain,
  tags: string | null,
  totals: Partial<ClickTotals> = {},
): Versioned<LinkRow> {
  const record = { id, ...noClicks, ...totals, ...row, tags, domain_name: domain.name, revision: firstRevision }
  return linkRecords.toVersioned(record)
}

const noClicks: ClickTotals = { clicks: 0, bots: 0, previews: 0, last_clicked_ms: null }

/** Returns undefined for a link whose domain is being removed. */
function served(found: Versioned<LinkRow> | undefined): Versioned<LinkRow> | undefined {
  return found?.record.domain_name == null ? undefined : found
}
