/** The addresses of links: a main one, of which the link has a copy, and further ones. Two unique indexes decide which are free. */
import { compareText, foldCase } from '../lib/text.ts'
import { addressKey, parseAlias } from '../names/alias.ts'
import type { ShortUrl } from '../names/short-url.ts'
import { type Db, parts } from '../storage/port.ts'
import { CachedQuery, query, type Row } from '../storage/schema.ts'
import { Refusal } from '../violations.ts'

/** Further addresses of a link. */
export const maxAddresses = 20

/** An address, stored or not. */
export interface Address {
  readonly domain_id: number
  readonly alias: string
  readonly exact: boolean
}

/** A stored address. */
export interface StoredAddress extends Address {
  readonly id: number
  readonly link_id: number
  readonly legacy: boolean
  readonly main: boolean
  readonly clicks: number
  readonly created_at: string
  /** Null while the domain is being removed. */
  readonly domain_name: string | null
}

/** Returns whether two addresses can't both be stored, as the unique indexes decide. */
export function clash(one: Address, other: Address): boolean {
  if (one.domain_id !== other.domain_id) return false
  if (one.alias === other.alias) return true
  return !one.exact && !other.exact && foldCase(one.alias) === foldCase(other.alias)
}

/** Returns the addresses that clash with none before them. */
export function withoutClashes<Some extends Address>(addresses: readonly Some[]): Some[] {
  return addresses.filter((each, at) => !addresses.slice(0, at).some((before) => clash(before, each)))
}

/** Returns 1 if the rule of aliases rejects a stored alias, otherwise 0. */
export function isLegacy(alias: string): number {
  return parseAlias(alias) instanceof Refusal ? 1 : 0
}

/** Returns the columns of a link that are copies of its main address. */
export function mainColumns({ alias, exact }: Address, legacy = isLegacy(alias)) {
  return { alias, alias_folded: addressKey(alias, exact), exact: Number(exact), legacy }
}

const columns = ['id', 'link_id', 'domain_id', 'alias', 'exact', 'legacy', 'main', 'clicks', 'created_at'] as const
const domainName = query
  .selectFrom('domains')
  .select('name')
  .whereRef('domains.id', '=', query.dynamic.ref<never>('addresses.domain_id'))
  .whereRef('domains.account_id', '=', query.dynamic.ref<never>('addresses.account_id'))
  .as('domain_name')

type AddressRow = Pick<Row<'addresses'>, (typeof columns)[number]> & { readonly domain_name: string | null }

function addressOf(row: AddressRow): StoredAddress {
  return { ...row, exact: row.exact === 1, legacy: row.legacy === 1, main: row.main === 1 }
}

/** Finds all addresses of the account's links, by link and in the order of ids. */
export async function findAllAddresses(
  db: Db,
  account: number,
  links: readonly number[],
): Promise<Map<number, StoredAddress[]>> {
  const found = new Map<number, StoredAddress[]>()
  for (const some of parts(links)) {
    const build = () =>
      query
        .selectFrom('addresses')
        .select([...columns, domainName])
        .where('account_id', '=', account)
        .where('link_id', 'in', some)
    for (const row of await db.execute(
      new CachedQuery<AddressRow>(`addresses of ${some.length} links`, [account, ...some], build),
    )) {
      found.getOrInsertComputed(row.link_id, () => []).push(addressOf(row))
    }
  }
  for (const own of found.values()) own.sort((a, b) => a.id - b.id)
  return found
}

/** Finds the further addresses of the account's links, by link and in the order of ids. */
export async function findAddresses(
  db: Db,
  account: number,
  links: readonly number[],
): Promise<Map<number, StoredAddress[]>> {
  const all = await findAllAddresses(db, account, links)
  return new Map([...all].map(([link, own]) => [link, own.filter(({ main }) => !main)]))
}

/** Returns the short URLs of the further addresses of the account's links, by link. */
export async function furtherShortUrls(
  db: Db,
  account: number,
  links: readonly number[],
  shortUrl: ShortUrl,
): Promise<Map<number, string[]>> {
  const urlOf = ({ domain_name, alias }: StoredAddress) => (domain_name === null ? [] : shortUrl(domain_name, alias))
  const found = await findAddresses(db, account, links)
  return new Map([...found].map(([link, addresses]) => [link, addresses.flatMap(urlOf)]))
}

/** An address to store. The id and clicks are those of an address that returns. */
export interface NewAddress extends Address {
  readonly link_id: number
  readonly legacy?: boolean | undefined
  readonly main?: boolean
  readonly id?: number
  readonly clicks?: number
  readonly created_at?: string
}

/** Addresses that one statement stores. More take longer for each row. */
const insertedRows = 64

/**
 * Stores addresses of the account's links, unless they clash with a stored one or with one before them. The domains are locked.
 * Returns the stored ones. Two transactions with the same addresses don't deadlock, because they store them in the same order.
 */
export async function insertAddresses(
  tx: Db,
  account: number,
  addresses: readonly NewAddress[],
): Promise<StoredAddress[]> {
  const now = new Date().toISOString()
  const rows = addresses.map((address) => rowOf(account, address, now))
  const sorted = rows
    .map((row) => ({ row, key: orderAddress(row.domain_id, row.alias_folded) }))
    .sort((a, b) => compareText(a.key, b.key))
  const stored: StoredAddress[] = []
  // Rows with ids have other columns.
  for (const group of Map.groupBy(sorted, ({ row }) => 'id' in row).values()) {
    for (const some of parts(group, insertedRows))
      stored.push(...(await tx.execute(insertion(some.map(({ row }) => row)))).map(addressOf))
  }
  return stored
}

/** Returns the place of an address in the order in which every transaction stores addresses. */
export function orderAddress(domain_id: number, alias_folded: string): string {
  return `${String(domain_id).padStart(16, '0')} ${alias_folded}`
}

function insertion(rows: readonly ReturnType<typeof rowOf>[]) {
  const names = Object.keys(rows[0] ?? {}) as (keyof (typeof rows)[number])[]
  const parameters = rows.flatMap((row) => names.map((name) => row[name]))
  const build = () =>
    query
      .insertInto('addresses')
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .returning([...columns, domainName])
  return new CachedQuery<AddressRow>(`insert ${rows.length} addresses ${names.length}`, parameters, build)
}

function rowOf(
  account_id: number,
  { id, link_id, domain_id, alias, exact, legacy, main = false, clicks = 0, created_at }: NewAddress,
  now: string,
) {
  return {
    ...(id === undefined ? {} : { id }),
    ...{ account_id, link_id, domain_id, alias, alias_folded: foldCase(alias), exact: Number(exact) },
    ...{ legacy: Number(legacy ?? isLegacy(alias)), main: Number(main), clicks, created_at: created_at ?? now },
  }
}

/** Returns the first alias among addresses that were to be stored, but are not among the stored ones. */
export function takenAmong(wanted: readonly Address[], stored: readonly Address[]): string {
  const isStored = (each: Address) =>
    stored.some(({ domain_id, alias }) => domain_id === each.domain_id && alias === each.alias)
  return (
    wanted.find((each, at) => !isStored(each) || wanted.slice(0, at).some((other) => clash(other, each)))?.alias ?? ''
  )
}

/** Deletes addresses of the account's links. */
export async function deleteAddresses(tx: Db, account: number, ids: readonly number[]): Promise<void> {
  for (const some of parts(ids)) {
    const build = () => query.deleteFrom('addresses').where('account_id', '=', account).where('id', 'in', some)
    await tx.execute(new CachedQuery(`delete ${some.length} addresses`, [account, ...some], build))
  }
}

/** The addresses of a link before and after a change, as its event has them: see `LinkRow.addresses`. */
export interface ChangedAddresses {
  readonly before: string | null
  readonly after: string | null
}

/** Returns further addresses as events have them. Those that are gone have their clicks, so that they can return with them. */
export function describeAddresses(before: readonly StoredAddress[], after: readonly StoredAddress[]): ChangedAddresses {
  const left = new Set(after.map(({ id }) => id))
  const text = (addresses: readonly object[]) => (addresses.length === 0 ? null : JSON.stringify(addresses))
  return {
    before: text(before.map((each) => (left.has(each.id) ? shown(each) : { ...shown(each), clicks: each.clicks }))),
    after: text(after.map(shown)),
  }
}

function shown({ id, domain_id, alias, exact, legacy }: StoredAddress) {
  return { id, domain_id, alias, exact, legacy }
}
