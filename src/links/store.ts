import { type Selectable, sql } from 'kysely'
import { aliasTaken, type Failure, ForeignKeyViolation, UniqueViolation, validationFailed } from '../errors.ts'
import { foldCase } from '../lib/fold-case.ts'
import { resources } from '../resources.ts'
import type { Db, Listable, Page, PageRequest, Storage } from '../storage/port.ts'
import { Records } from '../storage/records.ts'
import { type LinkClicksTable, type LinksTable, query } from '../storage/schema.ts'
import { firstRevision, type Precondition, type Versioned } from '../storage/version.ts'
import { generateAlias, generatedLength, type Lifetime, statusOf } from './link.ts'

/** The columns of a link that others see. The rest of `LinksTable` is for searches and filters. */
const columns = [
  'id',
  'domain_id',
  'space_id',
  'alias',
  'url',
  'title',
  'disabled',
  'active_period_start_at',
  'active_period_end_at',
  'clicks_limit',
  'expiration_url',
  'redirect_password',
  'forward_query',
  'redirect_status',
  'created_at',
  'updated_at',
] as const

type Totals = Pick<Selectable<LinkClicksTable>, 'clicks' | 'bots' | 'previews' | 'last_clicked_ms'>

/** A link as it is stored. */
export interface LinkRow
  extends Readonly<Pick<Selectable<LinksTable>, (typeof columns)[number]>>,
    Readonly<Pick<Totals, 'clicks' | 'last_clicked_ms'>> {
  /** Null while the domain is being removed. */
  readonly domain_name: string | null
}

type Unsettable =
  | 'id'
  | 'domain_id'
  | 'alias'
  | 'clicks'
  | 'last_clicked_ms'
  | 'created_at'
  | 'updated_at'
  | 'domain_name'
type Flag = 'disabled' | 'forward_query'

/** The fields of a link that its owner sets. The password is a hash. */
export type LinkValues = Omit<LinkRow, Unsettable | Flag> & { readonly [Name in Flag]: boolean }

/** New values of a link. An undefined value stays unchanged. */
export type LinkChange = { readonly [Name in keyof LinkValues]?: LinkValues[Name] | undefined } & {
  readonly alias?: string | undefined
}

/** Clicks of bots and previews. */
export type Programs = Readonly<Pick<Totals, 'bots' | 'previews'>>

/** The history of an imported link. */
export type LinkPast = Readonly<Totals> & Pick<LinkRow, 'created_at' | 'updated_at'>

/** A domain that a link may be stored on. */
export interface LinkDomain {
  readonly id: number
  /** In ASCII. */
  readonly name: string
}

/** Values from other tables. A space that is being removed counts as none. */
const computed = {
  domain_name: '(select name from domains where id = links.domain_id and account_id = links.account_id)',
  space_id: '(select id from spaces where id = links.space_id and account_id = links.account_id)',
  clicks: '(select clicks from link_clicks where link_id = links.id)',
  last_clicked_ms: '(select last_clicked_ms from link_clicks where link_id = links.id)',
}

const links = new Records<LinkRow>('links', [...columns, 'clicks', 'last_clicked_ms', 'domain_name'], computed)

const listable: Listable<LinkRow> = { table: 'links', columns: links.columns, computed, ...resources.links }

/** Lists the account's links, without those of a domain that is being removed; only the last page with `after` is short. */
export async function listLinks(storage: Storage, account: number, page: PageRequest): Promise<Page<LinkRow>> {
  if ('status' in page.filter) await settleStatuses(storage, account)
  const isServed = ({ domain_name }: LinkRow) => domain_name !== null
  let { rows, ...counted } = await storage.list({ of: listable, account, ...page })
  const rowsBefore = rows.length
  const served = rows.filter(isServed)
  while (page.after !== null && rows.length === page.limit && served.length < page.limit) {
    const after = rows.at(-1)?.id ?? page.after
    rows = (await storage.list({ of: listable, account, ...page, after })).rows
    served.push(...rows.filter(isServed))
  }
  return { rows: served.slice(0, page.limit), rowsBefore, ...counted }
}

/** Links that one statement updates, so that no request waits for it. */
const settleBatchSize = 200

/** Updates the statuses of the account's links that changed with time, in batches. */
async function settleStatuses(db: Db, account: number): Promise<void> {
  const now = new Date().toISOString()
  const due = query.selectFrom('links').select('id').where('account_id', '=', account).where('status_due_at', '<=', now)
  // Most often nothing is due, and a read waits for no other writer.
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
    // Clicks are in another table: a statement that waited for the last one would still see the clicks before it.
    settled = (await db.write((tx) => tx.execute(settle), 'serializable')).length
  } while (settled === settleBatchSize)
}

/** Finds the account's link with this id. */
export async function findLink(db: Db, account: number, id: number): Promise<Versioned<LinkRow> | undefined> {
  return served(await links.find(db, account, id))
}

/** Finds the link as `findLink` does, and locks it until the end of the transaction, which can then change it. */
export async function findLinkForUpdate(tx: Db, account: number, id: number): Promise<Versioned<LinkRow> | undefined> {
  return served(await links.findForUpdate(tx, account, id))
}

/** Lists the account's links with ids above `after`, in the order of ids; `limit` at most. */
export function linksAfter(db: Db, account: number, after: number, limit: number): Promise<LinkRow[]> {
  return links.listAfter(db, account, after, limit)
}

/** Finds the account's link with this alias on the domain, case-insensitively. */
export async function findLinkByAlias(db: Db, account: number, domain: number, alias: string) {
  const [found] = await db.execute(
    query
      .selectFrom('links')
      .select('id')
      .where('domain_id', '=', domain)
      .where('alias_folded', '=', foldCase(alias))
      .where('account_id', '=', account),
  )
  return found && findLink(db, account, found.id)
}

/** Lists ids and domains of the account's links with this alias, case-insensitively, on any domain; `limit` at most. */
export function linksOfAlias(db: Db, account: number, alias: string, limit: number) {
  return db.execute(
    query
      .selectFrom('links')
      .innerJoin('domains', 'domains.id', 'links.domain_id')
      .select(['links.id', 'domains.name as domain_name'])
      .where('links.account_id', '=', account)
      .where('domains.account_id', '=', account)
      .where('links.alias_folded', '=', foldCase(alias))
      .orderBy('links.id')
      .limit(limit),
  )
}

/** Returns the clicks of bots and previews for each of the account's links with ids above `after`, up to `last`. */
export async function programsOfLinks(
  db: Db,
  account: number,
  after: number,
  last: number,
): Promise<ReadonlyMap<number, Programs>> {
  const rows = await db.execute(
    query
      .selectFrom('link_clicks')
      .select(['link_id', 'bots', 'previews'])
      .where('account_id', '=', account)
      .where('link_id', '>', after)
      .where('link_id', '<=', last),
  )
  return new Map(rows.map(({ link_id, bots, previews }) => [link_id, { bots, previews }]))
}

/** Links are counted up to this number, so that the rows of a page take a few milliseconds. It stands for all above. */
export const maxCountedLinks = 1_001

/** Counts the links of each of these domains or spaces of the account, by its id. Counts up to `maxCountedLinks`. */
export async function countLinksIn(
  db: Db,
  account: number,
  by: 'domain_id' | 'space_id',
  ids: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  if (ids.length === 0) return new Map()
  const owners = by === 'domain_id' ? 'domains' : 'spaces'
  const counted = sql`select 1 from links where account_id = ${sql.ref(`${owners}.account_id`)}
    and ${sql.ref(by)} = ${sql.ref(`${owners}.id`)} limit ${sql.lit(maxCountedLinks)}`
  const rows = await db.execute(
    query
      .selectFrom(owners)
      .select(['id', sql<number>`(select count(*) from (${counted}) as counted)`.as('links')])
      .where('account_id', '=', account)
      .where('id', 'in', ids),
  )
  return new Map(rows.map(({ id, links }) => [id, Number(links)]))
}

/** Finds the account's domain with this id, or its oldest domain if `id` is null. */
export async function findLinkDomain(db: Db, account: number, id: number | null): Promise<LinkDomain | undefined> {
  const domains = query.selectFrom('domains').select(['id', 'name']).where('account_id', '=', account)
  const [domain] = await db.execute(id === null ? domains.orderBy('id').limit(1) : domains.where('id', '=', id))
  return domain
}

/** Returns whether the account has this space. */
export async function hasSpace(db: Db, account: number, id: number): Promise<boolean> {
  const spaces = query.selectFrom('spaces').select('id').where('id', '=', id).where('account_id', '=', account)
  return (await db.execute(spaces)).length > 0
}

/** Returns the violation for a domain that the account does not have, whether or not another account has it. */
export function unknownDomain(id: number) {
  return { field: 'domain_id', code: 'unknown_domain', message: `There is no domain with the id ${id}.` } as const
}

/** Returns the violation for a space that the account does not have, whether or not another account has it. */
export function unknownSpace(id: number) {
  return { field: 'space_id', code: 'unknown_space', message: `There is no space with the id ${id}.` } as const
}

/** Generated aliases of one length that may clash before longer ones are tried. */
const clashesPerLength = 3

/**
 * Stores a link on a domain of the account, with its own past if it has one. Without an alias, one is made. Throws
 * `alias_taken` if a link of the domain has the alias, whatever its case: the unique index decides; and
 * `validation_failed` if the domain or the space has been deleted meanwhile.
 */
export async function insertLink(
  db: Db,
  account: number,
  domain: LinkDomain,
  { alias, ...values }: LinkValues & { readonly alias: string | null },
  past?: LinkPast,
): Promise<Versioned<LinkRow>> {
  for (let clashes = 0; ; clashes++) {
    const name = alias ?? generateAlias(generatedLength + Math.floor(clashes / clashesPerLength))
    const stored = await tryInsert(db, account, domain, name, values, past)
    if (stored !== undefined) return stored
    await refuseGone(db, account, domain.id, values.space_id)
    if (alias !== null) throw aliasTaken(alias)
  }
}

/** Returns undefined if the alias is taken, or if the domain or the space is gone. */
async function tryInsert(
  db: Db,
  account: number,
  domain: LinkDomain,
  alias: string,
  values: LinkValues,
  past?: LinkPast,
): Promise<Versioned<LinkRow> | undefined> {
  const now = new Date().toISOString()
  const { created_at, updated_at, ...totals } = past ?? { ...noClicks, created_at: now, updated_at: now }
  const lifetime: Lifetime = { ...values, clicks: totals.clicks }
  const stored = {
    ...values,
    domain_id: domain.id,
    alias,
    disabled: Number(values.disabled),
    forward_query: Number(values.forward_query),
    created_at,
    updated_at,
  }
  const row = {
    ...stored,
    ...foldedOf(stored),
    account_id: account,
    status: statusOf(lifetime, now),
    status_due_at: dueAt(lifetime, now),
  }
  const condition = sql<boolean>`
    exists (select 1 from domains where id = ${domain.id} and account_id = ${account})
    and (cast(${values.space_id} as bigint) is null
      or exists (select 1 from spaces where id = ${values.space_id} and account_id = ${account}))
    and not exists (select 1 from links where domain_id = ${domain.id} and alias_folded = ${foldCase(alias)})`
  const insert = (to: Db) => links.insertIf(to, row, condition)
  try {
    const id = past === undefined ? await insert(db) : await insertWithTotals(db, insert, totals)
    if (id === undefined) return undefined
    return links.toVersioned({ id, ...stored, ...totals, domain_name: domain.name, revision: firstRevision })
  } catch (error) {
    throw error instanceof ForeignKeyViolation ? deletedConcurrently(error, domain.id, values.space_id) : error
  }
}

const noClicks: Totals = { clicks: 0, bots: 0, previews: 0, last_clicked_ms: null }

/** Inserts a link and sets the totals of its clicks in one transaction. */
function insertWithTotals(
  db: Db,
  insert: (to: Db) => Promise<number | undefined>,
  totals: Totals,
): Promise<number | undefined> {
  return db.write(async (tx) => {
    const id = await insert(tx)
    if (id !== undefined) await tx.execute(query.updateTable('link_clicks').set(totals).where('link_id', '=', id))
    return id
  })
}

/** When the state that a link has at `now` may change by itself. */
function dueAt(link: Lifetime, now: string): string | null {
  const status = statusOf(link, now)
  if (status === 'scheduled') return link.active_period_start_at
  return status === 'active' ? link.active_period_end_at : null
}

/** The domain or the space was deleted in the moment between the look at it and the insertion. */
function deletedConcurrently({ constraint }: ForeignKeyViolation, domain: number, space: number | null): Failure {
  const isSpace = space !== null && constraint?.includes('space_id')
  return validationFailed([isSpace ? unknownSpace(space) : unknownDomain(domain)])
}

/** Throws `validation_failed` if the domain or the space is not one of the account. */
async function refuseGone(db: Db, account: number, domain: number, space: number | null): Promise<void> {
  if ((await findLinkDomain(db, account, domain)) === undefined) throw validationFailed([unknownDomain(domain)])
  if (space !== null && !(await hasSpace(db, account, space))) throw validationFailed([unknownSpace(space)])
}

/** Changes the account's link: see `changeRecord`. Throws `alias_taken`, or `validation_failed` if the space is gone. */
export async function changeLink(
  db: Db,
  account: number,
  id: number,
  change: LinkChange,
  precondition: Precondition | null,
): Promise<Versioned<LinkRow> | undefined> {
  const flags = { disabled: numeric(change.disabled), forward_query: numeric(change.forward_query) }
  const values = { ...change, ...flags, ...foldedOf(change) }
  const unversioned = affectsStatus(change) ? { status_due_at: always } : {}
  try {
    return served(await links.change(db, account, id, values, precondition, unversioned))
  } catch (error) {
    if (error instanceof UniqueViolation) throw aliasTaken(change.alias ?? '')
    if (error instanceof ForeignKeyViolation) throw validationFailed([unknownSpace(change.space_id ?? 0)])
    throw error
  }
}

/** Sorts before every time, so that the state is brought up to date before it is next filtered by. */
const always = ''

function affectsStatus(change: LinkChange): boolean {
  const { disabled, active_period_start_at, active_period_end_at, clicks_limit } = change
  return [disabled, active_period_start_at, active_period_end_at, clicks_limit].some((value) => value !== undefined)
}

function numeric(flag: boolean | undefined): number | undefined {
  return flag === undefined ? undefined : Number(flag)
}

/** The folded forms of what is searched. A form is null where the text is its own, which most URLs are. */
function foldedOf({ alias, url, title }: Pick<LinkChange, 'alias' | 'url' | 'title'>) {
  return {
    alias_folded: alias === undefined ? undefined : foldCase(alias),
    url_folded: url === undefined ? undefined : folded(url),
    title_folded: title === undefined ? undefined : title && folded(title),
  }
}

function folded(text: string): string | null {
  const form = foldCase(text)
  return form === text ? null : form
}

/**
 * Deletes the account's link. Returns false if it does not exist, or if its domain is being removed. Throws what
 * `precondition` throws for its version.
 */
export async function removeLink(
  db: Db,
  account: number,
  id: number,
  precondition: Precondition | null,
): Promise<boolean> {
  const deletion = query
    .deleteFrom('links')
    .where('id', '=', id)
    .where('account_id', '=', account)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('domains').select('id').whereRef('id', '=', 'links.domain_id').where('account_id', '=', account),
      ),
    )
    .returning('id')
  return (await links.executeIf(db, account, id, precondition, deletion)).length > 0
}

/** A link goes with its domain, at once for all who ask. */
function served(found: Versioned<LinkRow> | undefined): Versioned<LinkRow> | undefined {
  return found?.record.domain_name == null ? undefined : found
}
