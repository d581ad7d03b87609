import { Failure, found } from '../errors.ts'
import { pageRequestOf } from '../forms/list-query.ts'
import { conditionOf, entityTagOf } from '../http/conditions.ts'
import type { Exchange } from '../http/exchange.ts'
import { addHeader, send, sendJson } from '../http/response.ts'
import type { IdempotentRequests, OnceResult } from '../idempotency/store.ts'
import { resources } from '../resources.ts'
import { sendPage, sendRecord } from './envelopes.ts'
import { claimOf, idempotencyKeyOf } from './idempotency.ts'
import { type Api, idOf, type ResourceHandlers } from './operations.ts'

/** Adds the five operations on a resource. Updates have two methods. */
export function resourceRoutes<Shown extends { readonly id: number }>(
  api: Api,
  idempotentRequests: IdempotentRequests,
  handlers: ResourceHandlers<Shown>,
): void {
  const resource = resources[handlers.name]
  const { list, show, store, put, patch, delete: remove } = handlers.operations

  api.add(list, async (exchange, { caller }) => {
    const condition = conditionOf(exchange)
    const query = list.query.check(exchange.query)
    if (query instanceof Failure) return query
    const page = await handlers.list(caller.account, pageRequestOf(query, resource))
    return sendPage(exchange, query, page, { path: api.urlOf(exchange, list), condition })
  })

  api.add(show, async (exchange, { caller }) => {
    const condition = conditionOf(exchange)
    const record = await handlers.find(caller.account, idOf(exchange, resource.singular))
    return sendRecord(exchange, found(record, resource.singular), condition)
  })

  api.add(store, async (exchange, admitted) => {
    const key = idempotencyKeyOf(exchange)
    const { account, scopes } = admitted.caller
    const insert = await handlers.insertion(account, admitted.fields, scopes)
    const claim = claimOf(exchange, admitted, key, store.body.form)
    let stored: Shown | undefined
    const response = await idempotentRequests.run(claim, async (db) => {
      const { record, version } = await insert(db)
      stored = record
      const location = `${api.urlOf(exchange, list)}/${record.id}`
      return { status: 201, location, etag: entityTagOf(version), body: JSON.stringify({ data: record }) }
    })
    if (stored !== undefined) await handlers.onStored?.(stored)
    return sendStored(exchange, response)
  })

  api.add([put, patch], async (exchange, { caller, fields }) => {
    const condition = conditionOf(exchange)
    const id = idOf(exchange, resource.singular)
    return sendRecord(exchange, await handlers.change(caller.account, id, fields, condition, caller.scopes))
  })

  api.add(remove, async (exchange, { caller }) => {
    const condition = conditionOf(exchange)
    const id = idOf(exchange, resource.singular)
    await handlers.remove(caller.account, id, exchange.query, condition)
    return send(exchange, 204)
  })
}

function sendStored(exchange: Exchange, { status, location, etag, body, isReplayed }: OnceResult): undefined {
  if (isReplayed) addHeader(exchange, 'idempotency-replayed', 'true')
  addHeader(exchange, 'location', location)
  addHeader(exchange, 'etag', etag)
  return sendJson(exchange, status, body)
}
