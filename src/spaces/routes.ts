import { idOf, sendPage, sendRecord } from '../api/envelopes.ts'
import { claimOf, idempotencyKeyOf, sendStored } from '../api/idempotency.ts'
import type { Api } from '../api/routes.ts'
import { Failure, found } from '../errors.ts'
import { checkListQuery, pageRequestOf } from '../forms/list-query.ts'
import { conditionOf } from '../http/conditions.ts'
import { send } from '../http/response.ts'
import { resources } from '../resources.ts'
import type { Storage } from '../storage/port.ts'
import type { SpaceActions } from './actions.ts'
import { listSpacesQuery, spaceOperations, storeSpace } from './schema.ts'
import { findSpace, listSpaces } from './store.ts'

/** The five operations on spaces. */
export function spaceRoutes(api: Api, storage: Storage, actions: SpaceActions): void {
  const { list, show, store, put, patch, delete: remove } = spaceOperations
  const { idempotentRequests } = api

  api.add(list, async (exchange, { caller }) => {
    const condition = conditionOf(exchange)
    const query = checkListQuery(exchange.query, listSpacesQuery)
    if (query instanceof Failure) return query
    const page = await listSpaces(storage, caller.account, pageRequestOf(query, resources.spaces))
    return sendPage(exchange, query, page, { path: api.urlOf(exchange, list), condition })
  })

  api.add(show, async (exchange, { caller }) => {
    const condition = conditionOf(exchange)
    const space = await findSpace(storage, caller.account, idOf(exchange, 'space'))
    return sendRecord(exchange, found(space, 'space'), condition)
  })

  api.add(store, async (exchange, admitted) => {
    const key = idempotencyKeyOf(exchange)
    const insert = actions.insertion(admitted.caller.account, admitted.fields)
    const claim = claimOf(exchange, admitted, key, storeSpace)
    return sendStored(exchange, { idempotentRequests, claim, collection: api.urlOf(exchange, list) }, insert)
  })

  api.add([put, patch], async (exchange, { caller, fields }) => {
    const condition = conditionOf(exchange)
    const id = idOf(exchange, 'space')
    return sendRecord(exchange, await actions.change(caller.account, id, fields, condition))
  })

  api.add(remove, async (exchange, { caller }) => {
    const condition = conditionOf(exchange)
    await actions.remove(caller.account, idOf(exchange, 'space'), condition)
    return send(exchange, 204)
  })
}
