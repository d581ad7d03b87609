/** Queries of batches: each statement finds, stores, changes or deletes many records of an account. */
import type { Actor } from '../access/actor.ts'
import { Failure, notFound } from '../errors.ts'
import { type Db, parts } from '../storage/port.ts'
import type { Versioned } from '../storage/records.ts'
import { CachedQuery, query, type Row } from '../storage/schema.ts'
import type { MovedLink } from './address-changes.ts'
import { deleteAddresses, insertAddresses, type NewAddress, type StoredAddress, takenAmong } from './addresses.ts'
import { type ChangedLink, changedColumns, changesDestinations, foldedDestinations } from './link-rows.ts'
import type { LinkRow } from './schema.ts'
import { type LinkDomain, linkRecords } from './store.ts'

/** Rows that one statement stores. More take longer for each row. */
const insertedRows = 64

/**
 * Finds the account's domains with these ids, and its oldest domain if one of them is null. They can't be removed until the
 * end of the transaction. Returns them by the given id.
 */
export async function lockDomains(
  tx: Db,
  account: number,
  ids: ReadonlySet<number | null>,
): Promise<ReadonlyMap<number | null, LinkDomain>> {
  const domains = () =>
    query.selectFrom('domains').select(['id', 'name']).where('account_id', '=', account).forKeyShare()
  const found = new Map<number | null, LinkDomain>()
  const numbers = [...ids].filter((id) => id !== null).sort((a, b) => a - b)
  for (const some of parts(numbers)) {
    const build = () => domains().where('id', 'in', some).orderBy('id')
    const named = new CachedQuery<LinkDomain>(`lock ${some.length} domains`, [account, ...some], build)
    for (const domain of await tx.execute(named)) found.set(domain.id, domain)
  }
  const first = () => domains().orderBy('id').limit(1)
  const [oldest] = ids.has(null)
    ? await tx.execute(new CachedQuery<LinkDomain>('lock oldest domain', [account, 1], first))
    : []
  return oldest === undefined ? found : found.set(null, oldest)
}

/** Returns the account's domains with these ASCII names, by name. */
export async function domainsNamed(
  db: Db,
  account: number,
  names: readonly string[],
): Promise<ReadonlyMap<string, LinkDomain>> {
  const found = new Map<string, LinkDomain>()
  for (const some of parts(names)) {
    const build = () =>
      query.selectFrom('domains').select(['id', 'name']).where('account_id', '=', account).where('name', 'in', some)
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
  const found = new Map<string, Map<string, string>>()
  for (const keys of parts([...wanted.keys()])) {
    const own = () =>
      query.selectFrom('links').select(['alias', 'alias_folded', 'url']).where('account_id', '=', account)
    const build = () => own().where('alias_folded', 'in', keys)
    const named = new CachedQuery<Found>(`${keys.length} links by key`, [account, ...keys], build)
    for (const { alias, alias_folded: key, url } of await db.execute(named)) {
      if (wanted.get(key)?.has(url)) found.getOrInsertComputed(url, () => new Map()).set(key, alias)
    }
  }
  return found
}

/** Returns which of these spaces the account has. They can't be removed until the end of the transaction. */
export async function lockSpaces(tx: Db, account: number, ids: Iterable<number>): Promise<ReadonlySet<number>> {
  const spaces = () => query.selectFrom('spaces').select('id').where('account_id', '=', account)
  const found = new Set<number>()
  const distinct = [...new Set(ids)].sort((a, b) => a - b)
  for (const some of parts(distinct)) {
    const named = spaces().where('id', 'in', some).orderBy('id').forKeyShare()
    for (const { id } of await tx.execute(named)) found.add(id)
  }
  return found
}

/** A stored link, the failure of a row, or null for a deleted link. */
export type Outcome = Versioned<LinkRow> | Failure | null

/** Returns the link of a successful row. Throws the failure of another one. */
export function succeeded(outcome: Outcome | undefined): Versioned<LinkRow> {
  if (outcome == null || outcome instanceof Failure) throw outcome ?? notFound('link')
  return outcome
}

/** A link to store, with the columns of its row. */
export interface InsertedLink {
  /** The id of a link that returns. */
  readonly id?: number
  readonly row: Readonly<Omit<Row<'links'>, 'id' | 'revision'>>
  /** Its main address comes first. */
  readonly addresses: readonly Omit<NewAddress, 'link_id' | 'main'>[]
}

/** A stored link, with its further addresses. */
export interface InsertedRow {
  readonly id: number
  readonly further: readonly StoredAddress[]
}

interface InsertedLinks<Link> {
  readonly stored: ReadonlyMap<Link, InsertedRow>
  /** The first alias that is taken, for each of the other links. */
  readonly taken: ReadonlyMap<Link, string>
}

/**
 * Stores links of the account whose addresses are all free, without tags. The first of several with the same address wins. The
 * domains and spaces are locked.
 */
export function insertLinks<Link extends InsertedLink>(
  db: Db,
  account: number,
  links: readonly Link[],
): Promise<InsertedLinks<Link>> {
  return db.write(async (tx) => {
    const fresh = links.filter(({ id }) => id === undefined)
    const ids = (await tx.newIds('links', fresh.length)).values()
    const wanted = links.map((link) => {
      const link_id = link.id ?? Number(ids.next().value)
      return { link, link_id, addresses: link.addresses.map((each, at) => ({ ...each, link_id, main: at === 0 })) }
    })
    const all = await insertAddresses(
      tx,
      account,
      wanted.flatMap(({ addresses }) => addresses),
    )
    const byLink = Map.groupBy(all, ({ link_id }) => link_id)
    const { free = [], others = [] } = Object.groupBy(wanted, ({ link_id, addresses }) =>
      byLink.get(link_id)?.length === addresses.length ? 'free' : 'others',
    )
    const useless = others.flatMap(({ link_id }) => byLink.get(link_id) ?? [])
    await deleteAddresses(
      tx,
      account,
      useless.map(({ id }) => id),
    )
    for (const some of parts(free, insertedRows)) {
      await tx.execute(insertion(some.map(({ link, link_id }) => ({ id: link_id, ...link.row }))))
    }
    const furtherOf = (id: number) => (byLink.get(id) ?? []).filter(({ main }) => !main)
    return {
      stored: new Map(free.map(({ link, link_id: id }) => [link, { id, further: furtherOf(id) }])),
      taken: new Map(others.map((each) => [each.link, takenAmong(each.addresses, byLink.get(each.link_id) ?? [])])),
    }
  })
}

function insertion(rows: readonly (InsertedLink['row'] & { readonly id: number })[]) {
  const columns = Object.keys(rows[0] ?? {}) as (keyof (typeof rows)[number])[]
  const parameters = rows.flatMap((row) => columns.map((column) => row[column]))
  return new CachedQuery(`insert ${rows.length} links ${columns}`, parameters, () =>
    query.insertInto('links').values(rows),
  )
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
  change: Omit<ChangedLink, 'tags'>,
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

/** Returns the copies of main addresses, with a value for each of these links. */
function addressColumns(ids: readonly number[], moved: ReadonlyMap<number, MovedLink>) {
  const valuesOf = (column: keyof MovedLink['columns']) =>
    new Map(ids.map((id) => [id, moved.get(id)?.columns[column]]))
  const [alias, alias_folded] = [valuesOf('alias'), valuesOf('alias_folded')]
  return { alias, alias_folded, exact: valuesOf('exact'), legacy: valuesOf('legacy') }
}
