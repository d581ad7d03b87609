import { idOf, sendPage, sendRecord } from '../api/envelopes.ts'
import { claimOf, idempotencyKeyOf, sendStored } from '../api/idempotency.ts'
import type { Api } from '../api/routes.ts'
import { Failure, found } from '../errors.ts'
import { checkListQuery, pageRequestOf } from '../forms/list-query.ts'
import { conditionOf } from '../http/conditions.ts'
import type { Fields } from '../http/form-encoding.ts'
import { send } from '../http/response.ts'
import { resources } from '../resources.ts'
import type { Storage } from '../storage/port.ts'
import type { DomainActions } from './actions.ts'
import { domainOperations, listDomainsQuery, storeDomain } from './schema.ts'
import { findDomain, listDomains } from './store.ts'

/** The five operations on domains. */
export function domainRoutes(api: Api, storage: Storage, actions: DomainActions): void {
  const { list, show, store, put, patch, delete: remove } = domainOperations
  const { idempotentRequests } = api

  api.add(list, async (exchange, { caller }) => {
    const condition = conditionOf(exchange)
    const query = checkListQuery(exchange.query, listDomainsQuery)
    if (query instanceof Failure) return query
    const page = await listDomains(storage, caller.account, pageRequestOf(query, resources.domains))
    return sendPage(exchange, query, page, { path: api.urlOf(exchange, list), condition })
  })

  api.add(show, async (exchange, { caller }) => {
    const condition = conditionOf(exchange)
    const domain = await findDomain(storage, caller.account, idOf(exchange, 'domain'))
    return sendRecord(exchange, found(domain, 'domain'), condition)
  })

  api.add(store, async (exchange, admitted) => {
    const key = idempotencyKeyOf(exchange)
    const insert = actions.insertion(admitted.caller.account, admitted.fields)
    const claim = claimOf(exchange, admitted, key, storeDomain)
    const onStored = () => actions.announce()
    return sendStored(exchange, { idempotentRequests, claim, collection: api.urlOf(exchange, list), onStored }, insert)
  })

  api.add([put, patch], async (exchange, { caller, fields }) => {
    const condition = conditionOf(exchange)
    const id = idOf(exchange, 'domain')
    return sendRecord(exchange, await actions.change(caller.account, id, fields, condition))
  })

  api.add(remove, async (exchange, { caller }) => {
    const condition = conditionOf(exchange)
    await actions.remove(caller.account, idOf(exchange, 'domain'), exchange.query as Fields, condition)
    return send(exchange, 204)
  })
}
