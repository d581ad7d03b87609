/** Stores and deletes further addresses of links, for the API, the dashboard and the command line. */
import type { Actor } from '../access/actor.ts'
import { aliasTaken, found, validationFailed } from '../errors.ts'
import { recordEvents } from '../events/log.ts'
import type { Fields } from '../http/form-encoding.ts'
import type { Db, Storage } from '../storage/port.ts'
import { Refusal } from '../violations.ts'
import type { LinkActions } from './actions.ts'
import { storeAddress } from './address-schema.ts'
import {
  type Address,
  deleteAddresses,
  describeAddresses,
  findAddresses,
  insertAddresses,
  maxAddresses,
  type StoredAddress,
} from './addresses.ts'
import { lockDomains } from './batch-store.ts'
import { generateAlias } from './link.ts'
import { loopViolations } from './link-violations.ts'
import { addressesEvent, type LinkRow } from './schema.ts'
import { findLink, findLinkForUpdate, unknownDomain } from './store.ts'

/** Returns the further addresses of the account's link on domains that are not being removed, by id. Throws `not_found`. */
export async function addressesOf(db: Db, account: number, link: number): Promise<StoredAddress[]> {
  found(await findLink(db, account, link), 'link')
  const addresses = (await findAddresses(db, account, [link])).get(link) ?? []
  return addresses.filter(({ domain_name }) => domain_name !== null)
}

export class AddressActions {
  readonly #storage: Storage
  readonly #links: LinkActions

  constructor(storage: Storage, links: LinkActions) {
    this.#storage = storage
    this.#links = links
  }

  /**
   * Returns the function that stores a further address of the actor's link. Throws `validation_failed`, and then `not_found` and
   * `alias_taken`.
   */
  insertion(actor: Actor, link: number, fields: Fields): (db: Db) => Promise<StoredAddress> {
    const reading = storeAddress.read(fields)
    return (db) =>
      db.write(async (tx) => {
        const { account } = actor
        const { record } = found(await findLinkForUpdate(tx, account, link), 'link')
        const before = (await findAddresses(tx, account, [link])).get(link) ?? []
        const address = await this.#check(tx, account, record, before.length, reading)
        const stored = await insertAddress(tx, account, link, address)
        await recordEvents(tx, actor, [addressesEvent(record, describeAddresses(before, [...before, stored]))])
        return stored
      })
  }

  /** Locks the domain of a new address of a link, which has `count` others. Returns its values. Throws `validation_failed`. */
  async #check(
    tx: Db,
    account: number,
    link: LinkRow,
    count: number,
    { values, violations }: ReturnType<typeof storeAddress.read>,
  ) {
    const all = [...violations]
    const { alias = null, exact = false, domain_id } = values
    const id = domain_id ?? link.domain_id
    const isKnown = !all.some(({ field }) => field === 'domain_id')
    const domain = isKnown ? (await lockDomains(tx, account, new Set([id]))).get(id) : undefined
    if (isKnown && domain === undefined) all.push(unknownDomain(id))
    if (count >= maxAddresses) all.push(new Refusal('too_many.addresses', { most: maxAddresses }).at('alias'))
    const own = domain === undefined || alias === null ? [] : [this.#links.rules.shortUrl(domain.name, alias)]
    const isLoop = loopViolations(link, own).length > 0
    if (isLoop) all.push(new Refusal('loops.address', { shortUrl: own[0] ?? '' }).at('alias'))
    if (all.length > 0) throw validationFailed(all)
    return { alias, exact, domain_id: id }
  }

  /** Reports a new address of a link to the redirect server. */
  onStored(link: number, { domain_id, alias }: Pick<StoredAddress, 'domain_id' | 'alias'>): void {
    this.#links.onStored({ id: link, domain_id, alias })
  }

  /** Deletes a further address of the actor's link. Throws `not_found`, and what `check` throws for the address. */
  async remove(actor: Actor, link: number, id: number, check = (_: StoredAddress): void => undefined): Promise<void> {
    const { account } = actor
    await this.#storage.write(async (tx) => {
      const { record } = found(await findLinkForUpdate(tx, account, link), 'link')
      const before = (await findAddresses(tx, account, [link])).get(link) ?? []
      const gone = found(
        before.find((address) => address.id === id),
        'address',
      )
      check(gone)
      await deleteAddresses(tx, account, [id])
      const left = before.filter((address) => address !== gone)
      await recordEvents(tx, actor, [addressesEvent(record, describeAddresses(before, left))])
    })
    this.#links.onRemoved(link)
  }
}

/** Stores a further address, with a generated alias if it is null. Throws `alias_taken`. */
async function insertAddress(
  tx: Db,
  account: number,
  link_id: number,
  { alias, ...address }: Omit<Address, 'alias'> & { readonly alias: string | null },
): Promise<StoredAddress> {
  for (let clashes = 0; ; clashes++) {
    const wanted = { ...address, link_id, alias: alias ?? generateAlias(clashes) }
    const [stored] = await insertAddresses(tx, account, [wanted])
    if (stored !== undefined) return stored
    if (alias !== null) throw aliasTaken(alias)
  }
}
