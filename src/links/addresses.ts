/**
 * The addresses of links. A link has a main address, which is in its row, and further addresses. No two addresses of a domain
 * clash: see `AddressSet`. Whoever stores an exact or a further address locks the domain alone, and whoever stores a link locks
 * it together with others, before they look for clashes.
 */
import { aliasTaken, type Failure, validationFailed } from '../errors.ts'
import { foldCase } from '../lib/text.ts'
import { addressKey, parseAlias } from '../names/alias.ts'
import type { ShortUrl } from '../names/short-url.ts'
import { type Db, parts } from '../storage/port.ts'
import { CachedQuery, query, type Row } from '../storage/schema.ts'
import { Refusal } from '../violations.ts'
import type { LinkRow } from './schema.ts'

/** Further addresses of a link. */
export const maxAddresses = 20

/** An address, stored or not. */
export interface Address {
  readonly domain_id: number
  readonly alias: string
  readonly exact: boolean
}

/** A further address. */
export interface StoredAddress extends Address {
  readonly id: number
  readonly link_id: number
  readonly legacy: boolean
  readonly clicks: number
  readonly created_at: string
  /** Null while the domain is being removed. */
  readonly domain_name: string | null
}

/**
 * A set of addresses that clash with each other or with others. Two addresses of a domain clash if they have the same spelling,
 * or if both ignore case and differ only in case.
 */
export class AddressSet {
  /** Aliases by domain and key. */
  readonly #aliases = new Map<string, string>()

  add({ domain_id, alias, exact }: Address): void {
    this.#aliases.set(`${domain_id} ${addressKey(alias, exact)}`, alias)
  }

  delete({ domain_id, alias, exact }: Address): void {
    this.#aliases.delete(`${domain_id} ${addressKey(alias, exact)}`)
  }

  hasClash({ domain_id, alias, exact }: Address): boolean {
    if (this.#aliases.has(`${domain_id} ${addressKey(alias, true)}`)) return true
    const insensitive = this.#aliases.get(`${domain_id} ${foldCase(alias)}`)
    return exact ? insensitive === alias : insensitive !== undefined
  }
}

/** Returns the addresses that clash with none before them. */
export function withoutClashes<Some extends Address>(addresses: readonly Some[]): Some[] {
  const taken = new AddressSet()
  return addresses.filter((address) => {
    const isFree = !taken.hasClash(address)
    if (isFree) taken.add(address)
    return isFree
  })
}

type Rival = Pick<Row<'links'>, 'account_id' | 'alias' | 'exact'>

/** Finds the account's stored addresses that may clash with these. */
export async function findRivals(db: Db, account: number, addresses: readonly Address[]): Promise<AddressSet> {
  const found = new AddressSet()
  const domains = Map.groupBy(addresses, ({ domain_id }) => domain_id)
  for (const [domain_id, own] of domains) {
    const keys = [...new Set(own.flatMap(({ alias }) => [addressKey(alias, false), addressKey(alias, true)]))]
    for (const some of parts(keys)) {
      // With the account as a condition, SQLite would read all links of the domain.
      const main = query
        .selectFrom('links')
        .select(['account_id', 'alias', 'exact'])
        .where('domain_id', '=', domain_id)
        .where('alias_folded', 'in', some)
      const further = query
        .selectFrom('link_addresses')
        .select(['account_id', 'alias', 'exact'])
        .where('domain_id', '=', domain_id)
        .where('alias_folded', 'in', some)
      const build = () => main.unionAll(further)
      const parameters = [domain_id, ...some, domain_id, ...some]
      const rows = await db.execute(new CachedQuery<Rival>(`rivals of ${some.length} keys`, parameters, build))
      for (const { account_id, alias, exact } of rows) {
        if (account_id === account) found.add({ domain_id, alias, exact: exact === 1 })
      }
    }
  }
  return found
}

/**
 * Locks the account's domains until the end of the transaction, so that no other transaction stores addresses on them. Locking
 * links comes first.
 */
export async function lockForAddresses(tx: Db, account: number, domains: Iterable<number>): Promise<void> {
  const ids = [...new Set(domains)].sort((a, b) => a - b)
  const own = query.selectFrom('domains').select('id').where('account_id', '=', account).where('id', 'in', ids)
  if (ids.length > 0) await tx.execute(own.orderBy('id').forUpdate())
}

const columns = ['id', 'link_id', 'domain_id', 'alias', 'exact', 'legacy', 'clicks', 'created_at'] as const
const domainName = query
  .selectFrom('domains')
  .select('name')
  .whereRef('domains.id', '=', query.dynamic.ref<never>('link_addresses.domain_id'))
  .whereRef('domains.account_id', '=', query.dynamic.ref<never>('link_addresses.account_id'))
  .as('domain_name')

type AddressRow = Pick<Row<'link_addresses'>, (typeof columns)[number]> & { readonly domain_name: string | null }

function addressOf(row: AddressRow): StoredAddress {
  return { ...row, exact: row.exact === 1, legacy: row.legacy === 1 }
}

/** Finds the further addresses of the account's links, by link and in the order of ids. */
export async function findAddresses(
  db: Db,
  account: number,
  links: readonly number[],
): Promise<Map<number, StoredAddress[]>> {
  const found = new Map<number, StoredAddress[]>()
  for (const some of parts(links)) {
    const own = query
      .selectFrom('link_addresses')
      .select([...columns, domainName])
      .where('account_id', '=', account)
    for (const row of await db.execute(own.where('link_id', 'in', some).orderBy('id'))) {
      found.getOrInsertComputed(row.link_id, () => []).push(addressOf(row))
    }
  }
  return found
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

/** A further address to store. The id and clicks are those of an address that returns. */
export interface NewAddress extends Address {
  readonly link_id: number
  readonly id?: number
  readonly clicks?: number
}

/** Stores further addresses of the account's links. The domains are locked, and nothing clashes. Returns them. */
export async function insertAddresses(
  tx: Db,
  account: number,
  addresses: readonly NewAddress[],
): Promise<StoredAddress[]> {
  const stored: StoredAddress[] = []
  const now = new Date().toISOString()
  // Rows with ids have other columns.
  for (const group of Map.groupBy(addresses, ({ id }) => id === undefined).values()) {
    for (const some of parts(group, 64)) {
      const rows = some.map((address) => rowOf(account, address, now))
      const inserted = await tx.execute(
        query
          .insertInto('link_addresses')
          .values(rows)
          .returning([...columns, domainName]),
      )
      stored.push(...inserted.map(addressOf))
    }
  }
  return stored.sort((a, b) => a.id - b.id)
}

function rowOf(
  account_id: number,
  { id, link_id, domain_id, alias, exact, clicks = 0 }: NewAddress,
  created_at: string,
) {
  return {
    ...(id === undefined ? {} : { id }),
    account_id,
    link_id,
    domain_id,
    alias,
    alias_folded: addressKey(alias, exact),
    exact: Number(exact),
    legacy: isLegacy(alias),
    clicks,
    created_at,
  }
}

/** Returns 1 if the rule of aliases rejects a stored alias, otherwise 0. */
export function isLegacy(alias: string): number {
  return parseAlias(alias) instanceof Refusal ? 1 : 0
}

/** Deletes further addresses of the account's link. */
export async function deleteAddresses(tx: Db, account: number, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  await tx.execute(query.deleteFrom('link_addresses').where('account_id', '=', account).where('id', 'in', ids))
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

/** A change of main addresses. Undefined values stay unchanged. */
export interface MainAddressChange {
  readonly alias?: string | undefined
  readonly exact?: boolean | undefined
  readonly domain_id?: number | undefined
  /** Whether previous main addresses become further ones. */
  readonly keepsAddress: boolean
  /** The further addresses that each link has afterwards, for an undo. */
  readonly addresses?: readonly NewAddress[] | undefined
}

/** The new main address of a link, and its further addresses. */
export interface MovedLink {
  readonly columns: Readonly<Record<'alias' | 'alias_folded', string> & Record<'exact' | 'legacy', number>>
  readonly addresses: ChangedAddresses
}

/** The links whose main address changes, and those whose new addresses clash, by id. */
interface ChangedMainAddresses {
  readonly moved: ReadonlyMap<number, MovedLink>
  readonly clashing: ReadonlyMap<number, Failure>
}

/**
 * Changes the further addresses of the account's links, which are locked, as a change of their main addresses requires: an own
 * address that becomes the main one is no further address any more. Returns what to change, and the failures of the links whose
 * new addresses clash.
 */
export async function changeAddresses(
  tx: Db,
  account: number,
  links: readonly LinkRow[],
  change: MainAddressChange,
): Promise<ChangedMainAddresses> {
  const lock = (domains: readonly number[]) => lockForAddresses(tx, account, domains)
  const { plans, take } = await planAddressChanges(tx, account, links, change, lock)
  const clashing = new Map<number, Failure>()
  const moved = new Map<number, MovedLink>()
  const [gone, added]: [number[], NewAddress[]] = [[], []]
  for (const plan of plans) {
    const failure = take(plan)
    if (failure !== null) clashing.set(plan.link.id, failure)
    else {
      gone.push(...plan.gone.map(({ id }) => id))
      added.push(...plan.added)
    }
  }
  await deleteAddresses(tx, account, gone)
  const inserted = Map.groupBy(await insertAddresses(tx, account, added), ({ link_id }) => link_id)
  for (const { link, main, before, left } of plans.filter(({ link }) => !clashing.has(link.id))) {
    const after = [...left, ...(inserted.get(link.id) ?? [])].sort((a, b) => a.id - b.id)
    const legacy = main.alias === link.alias ? link.legacy : isLegacy(main.alias)
    const columns = {
      alias: main.alias,
      alias_folded: addressKey(main.alias, main.exact),
      exact: Number(main.exact),
      legacy,
    }
    moved.set(link.id, { columns, addresses: describeAddresses(before, after) })
  }
  return { moved, clashing }
}

/** A link with its main address. */
type MainAddress = Pick<LinkRow, 'id' | 'domain_id' | 'alias' | 'exact'>

/**
 * Plans a change of the account's links without changing anything. `take` gets the plans in this order, and returns why the
 * addresses of a link can't change; null if they can. `lock` locks the domains before clashes are looked for.
 */
export async function planAddressChanges<Link extends MainAddress>(
  db: Db,
  account: number,
  links: readonly Link[],
  change: MainAddressChange,
  lock?: (domains: readonly number[]) => Promise<void>,
) {
  const ids = links.map(({ id }) => id)
  const stored = await findAddresses(db, account, ids)
  const plans = links.map((link) => planAddresses(link, stored.get(link.id) ?? [], change))
  const touched = plans.filter(({ isMoved, added }) => isMoved || added.length > 0)
  const used = touched.flatMap(({ main, added }) => [main, ...added])
  await lock?.(used.map(({ domain_id }) => domain_id))
  const rivals = await findRivals(db, account, used)
  return { plans, take: (plan: AddressPlan) => takeAddresses(rivals, plan) }
}

type AddressPlan = ReturnType<typeof planAddresses>

/** Returns the addresses of a link after a change. */
function planAddresses<Link extends MainAddress>(
  link: Link,
  before: readonly StoredAddress[],
  change: MainAddressChange,
) {
  const old: Address = { domain_id: link.domain_id, alias: link.alias, exact: link.exact === 1 }
  const { domain_id = old.domain_id, alias = old.alias } = change
  const promoted = before.find((each) => each.domain_id === domain_id && each.alias === alias)
  const main: Address = { domain_id, alias, exact: change.exact ?? promoted?.exact ?? old.exact }
  const isMoved = domain_id !== old.domain_id || addressKey(alias, main.exact) !== addressKey(old.alias, old.exact)
  const taken = new AddressSet()
  taken.add(main)
  const left = change.addresses
    ? before.filter(({ id }) => change.addresses?.some((each) => each.id === id))
    : before.filter((each) => !taken.hasClash(each))
  const known = new Set(left.map(({ id }) => id))
  const keepsOld = change.keepsAddress && isMoved && !taken.hasClash(old)
  const returning = (change.addresses ?? []).filter(({ id }) => id === undefined || !known.has(id))
  const added: NewAddress[] = keepsOld ? [...returning, { ...old, link_id: link.id }] : returning
  const gone = before.filter(({ id }) => !known.has(id))
  return { link, old, main, isMoved, before, left, gone, added }
}

/** Takes the addresses of a link out of those that others may clash with, and adds its new ones; unless they clash. */
function takeAddresses(rivals: AddressSet, { old, main, isMoved, gone, left, added }: AddressPlan): Failure | null {
  if (left.length + added.length > maxAddresses) {
    return validationFailed([new Refusal('too_many', { most: maxAddresses }).at('keep_address')])
  }
  for (const each of [...(isMoved ? [old] : []), ...gone]) rivals.delete(each)
  const wanted = isMoved ? [main, ...added] : added
  const clashing = wanted.find(
    (each, at) => rivals.hasClash(each) || wanted.slice(0, at).some((other) => clash(other, each)),
  )
  if (clashing === undefined) for (const each of wanted) rivals.add(each)
  else for (const each of [...(isMoved ? [old] : []), ...gone]) rivals.add(each)
  return clashing === undefined ? null : aliasTaken(clashing.alias)
}

function clash(one: Address, other: Address): boolean {
  const set = new AddressSet()
  set.add(one)
  return set.hasClash(other)
}
