/** Queries of batches: each statement finds, stores, changes or deletes many records of an account. */
import type { Actor } from '../access/actor.ts'
import { type SavedTotals, saveTotals } from '../analytics/tables.ts'
import { type Db, parts } from '../storage/port.ts'
import { newTimes, type Versioned } from '../storage/records.ts'
import { CachedQuery, query, type Row } from '../storage/schema.ts'
import type { MovedLink } from './addresses.ts'
import {
  changedColumns,
  changesDestinations,
  type FoldedTexts,
  foldedDestinations,
  type NamedAlias,
  newRow,
} from './link-rows.ts'
import type { LinkChange, LinkRow, LinkValues } from './schema.ts'
import { type LinkDomain, linkRecords, newLinkRecord } from './store.ts'

/** Rows that one statement stores. More take longer for each row. */
const insertedRows = 64

/**
 * Finds the account's domains with these ids, and its oldest domain if one of them is null. They can't be removed until the
 * end of the transaction, and if it is alone, no other transaction stores addresses on them. Returns them by the given id.
 */
export async function lockDomains(
  tx: Db,
  account: number,
  ids: ReadonlySet<number | null>,
  { isAlone = false }: { readonly isAlone?: boolean } = {},
): Promise<ReadonlyMap<number | null, LinkDomain>> {
  const own = query.selectFrom('domains').select(['id', 'name']).where('account_id', '=', account)
  const domains = isAlone ? own.forUpdate() : own.forKeyShare()
  const found = new Map<number | null, LinkDomain>()
  const numbers = [...ids].filter((id) => id !== null).sort((a, b) => a - b)
  for (const some of parts(numbers)) {
    for (const domain of await tx.execute(domains.where('id', 'in', some).orderBy('id'))) found.set(domain.id, domain)
  }
  const [oldest] = ids.has(null) ? await tx.execute(domains.orderBy('id').limit(1)) : []
  return oldest === undefined ? found : found.set(null, oldest)
}

/** Returns the account's domains with these ASCII names, by name. */
export async function domainsNamed(
  db: Db,
  account: number,
  names: readonly string[],
): Promise<ReadonlyMap<string, LinkDomain>> {
  const domains = query.selectFrom('domains').select(['id', 'name']).where('account_id', '=', account)
  const found = new Map<string, LinkDomain>()
  for (const some of parts(names)) {
    const build = () => domains.where('name', 'in', some)
    const named = new CachedQuery<LinkDomain>(`${some.length} domains by name`, [account, ...some], build)
    for (const domain of await db.execute(named)) found.set(domain.name, domain)
  }
  return found
}

/** Returns the aliases of the account's links with one of these folded aliases and its URL, by URL and folded alias. */
export async function aliasesLike(
  db: Db,
  account: number,
  wanted: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<ReadonlyMap<string, ReadonlyMap<string, string>>> {
  type Found = Pick<Row<'links'>, 'alias' | 'alias_folded' | 'url'>
  const own = query.selectFrom('links').select(['alias', 'alias_folded', 'url']).where('account_id', '=', account)
  const found = new Map<string, Map<string, string>>()
  for (const keys of parts([...wanted.keys()])) {
    const build = () => own.where('alias_folded', 'in', keys)
    const named = new CachedQuery<Found>(`${keys.length} links by key`, [account, ...keys], build)
    for (const { alias, alias_folded: key, url } of await db.execute(named)) {
      if (wanted.get(key)?.has(url)) found.getOrInsertComputed(url, () => new Map()).set(key, alias)
    }
  }
  return found
}

/** Returns which of these spaces the account has. They can't be removed until the end of the transaction. */
export async function lockSpaces(tx: Db, account: number, ids: Iterable<number>): Promise<ReadonlySet<number>> {
  const spaces = query.selectFrom('spaces').select('id').where('account_id', '=', account).orderBy('id').forKeyShare()
  const found = new Set<number>()
  const distinct = [...new Set(ids)].sort((a, b) => a - b)
  for (const some of parts(distinct)) {
    for (const { id } of await tx.execute(spaces.where('id', 'in', some))) found.add(id)
  }
  return found
}

/** The history of a link in another service. Times are null if they are unknown. */
export interface History {
  readonly created_at: string | null
  readonly clicks: number
  readonly bots: number
  readonly last_clicked_ms: number | null
}

/** A new link with its alias. */
export interface NewLinkOnDomain {
  readonly domain: LinkDomain
  readonly values: Omit<LinkValues, 'tags'> & NamedAlias
  readonly folded: FoldedTexts | undefined
  readonly history?: History | undefined
}

/**
 * Stores links of the account, without tags. Returns a function that returns the record of a link with its tags; undefined for
 * a link whose alias another link has. The domains and spaces are locked.
 */
export async function insertLinks(
  tx: Db,
  account: number,
  links: readonly NewLinkOnDomain[],
): Promise<ReadonlyMap<NewLinkOnDomain, (tags: string | null) => Versioned<LinkRow>>> {
  const times = newTimes()
  const stored = new Map<NewLinkOnDomain, (tags: string | null) => Versioned<LinkRow>>()
  const totals: SavedTotals[] = []
  for (const some of parts(links, insertedRows)) {
    const rows = some.map(({ domain, values, folded, history }) => {
      const created_at = history?.created_at ?? times.created_at
      return newRow(account, domain, values, { ...times, created_at }, { folded, clicks: history?.clicks ?? 0 })
    })
    const ids = new Map<string, number>()
    for (const { id, domain_id, alias_folded } of await tx.execute(insertion(rows))) {
      ids.set(`${domain_id} ${alias_folded}`, id)
    }
    for (const [at, link] of some.entries()) {
      const row = rows[at] as (typeof rows)[number]
      const id = ids.get(`${row.domain_id} ${row.alias_folded}`)
      if (id === undefined) continue
      stored.set(link, (tags) => newLinkRecord(id, row, link.domain, tags))
      if (link.history !== undefined) totals.push(totalsOf(account, id, link.domain.id, link.history))
    }
  }
  await saveTotals(tx, totals)
  return stored
}

function totalsOf(account_id: number, link_id: number, domain_id: number, history: History): SavedTotals {
  const { clicks, bots, last_clicked_ms } = history
  return { link_id, account_id, domain_id, clicks, bots, previews: 0, clicks_30d: 0, last_clicked_ms }
}

function insertion(rows: readonly ReturnType<typeof newRow>[]) {
  const columns = Object.keys(rows[0] ?? {}) as (keyof ReturnType<typeof newRow>)[]
  const parameters = rows.flatMap((row) => columns.map((column) => row[column]))
  const build = () =>
    query
      .insertInto('links')
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .returning(['id', 'domain_id', 'alias_folded'])
  type Inserted = { readonly id: number; readonly domain_id: number; readonly alias_folded: string }
  return new CachedQuery<Inserted>(`insert ${rows.length} links ${columns}`, parameters, build)
}

type Destinations = Pick<LinkRow, 'url' | 'rules'>

/** What a batch knows about its links. */
interface Known {
  /** The links before. */
  readonly links: ReadonlyMap<number, Versioned<LinkRow>>
  /** The destinations of each link in which text was replaced. */
  readonly destinations: ReadonlyMap<number, Destinations>
  /** The main addresses of links that get others. */
  readonly moved: ReadonlyMap<number, MovedLink>
  /** The links whose tags have changed. */
  readonly tagged: ReadonlySet<number>
}

/** Changes links of the account in the same way, and their destinations. Returns the links by their ids. */
export async function changeLinks(
  tx: Db,
  { account }: Actor,
  ids: readonly number[],
  change: Omit<LinkChange, 'tags'> & { readonly domain_id?: number },
  { links, destinations, moved, tagged }: Known,
): Promise<ReadonlyMap<number, Versioned<LinkRow>>> {
  const { columns, unversioned } = changedColumns(change)
  const after = (id: number): Destinations => {
    const before = destinations.get(id) ?? (links.get(id)?.record as LinkRow)
    return { url: change.url ?? before.url, rules: change.rules === undefined ? before.rules : change.rules }
  }
  const valuesOf = <Value>(some: readonly number[], value: (after: Destinations) => Value) =>
    new Map(some.map((id) => [id, value(after(id))]))
  const groups = Object.groupBy(ids, (id) => (destinations.has(id) ? 'replaced' : tagged.has(id) ? 'tagged' : 'others'))
  const changeGroup = (group: keyof typeof groups, isChanged: boolean) => {
    const some = groups[group] ?? []
    const isReplaced = group === 'replaced'
    const values = {
      ...columns,
      ...(moved.size > 0 && addressColumns(some, moved)),
      ...(isReplaced && { url: valuesOf(some, ({ url }) => url), rules: valuesOf(some, ({ rules }) => rules) }),
      ...((isReplaced || changesDestinations(change)) && { url_folded: valuesOf(some, foldedDestinations) }),
    }
    return linkRecords.changeAll(tx, account, some, values, { unversioned, isChanged })
  }
  return new Map([
    ...(await changeGroup('replaced', true)),
    ...(await changeGroup('tagged', true)),
    ...(await changeGroup('others', false)),
  ])
}

/** Returns the columns of main addresses, with a value for each of these links. */
function addressColumns(ids: readonly number[], moved: ReadonlyMap<number, MovedLink>) {
  const valuesOf = (column: keyof MovedLink['columns']) =>
    new Map(ids.map((id) => [id, moved.get(id)?.columns[column]]))
  return { alias_folded: valuesOf('alias_folded'), exact: valuesOf('exact'), legacy: valuesOf('legacy') }
}
