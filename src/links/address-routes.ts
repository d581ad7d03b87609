import { hash } from 'node:crypto'
import { sendRecord } from '../api/envelopes.ts'
import { readId } from '../api/operations.ts'
import { type Api, listRoute, storeRoute } from '../api/routes.ts'
import { found } from '../errors.ts'
import { type PageQuery, toPage } from '../forms/list-query.ts'
import { readCondition } from '../http/conditions.ts'
import type { Exchange } from '../http/exchange.ts'
import { send } from '../http/response.ts'
import type { IdempotentRequests } from '../idempotency/store.ts'
import { shownVersion } from '../lib/record-version.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { Page, Storage } from '../storage/port.ts'
import type { Versioned } from '../storage/records.ts'
import { type AddressActions, addressesOf } from './address-actions.ts'
import { addressOperations, type ShownAddress, showAddress } from './address-schema.ts'
import type { StoredAddress } from './addresses.ts'

/** Adds the operations on the further addresses of links. */
export function addressRoutes(
  api: Api,
  storage: Storage,
  idempotentRequests: IdempotentRequests,
  actions: AddressActions,
  shortUrl: ShortUrl,
): void {
  const { list, show, store, delete: remove } = addressOperations
  const linkIn = (exchange: Exchange) => readId(exchange, 'link')
  const addressIn = (exchange: Exchange) => readId(exchange, 'address', 'address_id')

  const readAddresses = (account: number, exchange: Exchange) => addressesOf(storage, account, linkIn(exchange))
  const readPage = async (account: number, query: PageQuery, exchange: Exchange) => {
    const { rows, ...page } = pageOfAddresses(await readAddresses(account, exchange), query)
    return { ...page, rows: rows.map((address) => showAddress(address, shortUrl)) }
  }
  listRoute(api, list, readPage, readAddresses)

  api.add(show, async (exchange, { actor }) => {
    const condition = readCondition(exchange)
    const id = addressIn(exchange)
    const addresses = await addressesOf(storage, actor.account, linkIn(exchange))
    const address = addresses.find((each) => each.id === id)
    return sendRecord(exchange, shown(found(address, 'address'), shortUrl), condition)
  })

  storeRoute(api, idempotentRequests, store, {
    insertion: (exchange, { actor, fields }) => {
      const insert = actions.insertion(actor, linkIn(exchange), fields)
      return async (db) => shown(await insert(db), shortUrl)
    },
    onStored: (address, exchange) => actions.onStored(linkIn(exchange), address),
  })

  api.add(remove, async (exchange, { actor }) => {
    const condition = readCondition(exchange)
    const versionOf = (address: StoredAddress) => shown(address, shortUrl).version
    const check = (address: StoredAddress) => condition?.check(versionOf(address))
    await actions.remove(actor, linkIn(exchange), addressIn(exchange), check)
    return send(exchange, 204)
  })
}

/** Returns an address with its version. Only its clicks change. */
function shown(address: StoredAddress, shortUrl: ShortUrl): Versioned<ShownAddress> {
  const record = showAddress(address, shortUrl)
  return { record, version: shownVersion('1', hash('sha1', JSON.stringify(record), 'base64url').slice(0, 12)) }
}

/** Returns a page of all addresses of a link, which are few. */
export function pageOfAddresses(all: readonly StoredAddress[], query: PageQuery): Page<StoredAddress> {
  const { direction, limit, offset, after } = toPage(query)
  const sorted = direction === 'asc' ? all : all.toReversed()
  const rows = sorted.filter(({ id }) => after === null || (direction === 'asc' ? id > after : id < after))
  return { rows: rows.slice(offset, offset + limit), total: all.length, totalIsExact: true }
}
