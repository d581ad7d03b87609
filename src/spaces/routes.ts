import { found, idOf, sendPage, sendRecord } from '../api/envelopes.ts'
import { claimOf, idempotencyKeyOf, sendStored } from '../api/idempotency.ts'
import { checkListQuery, pageRequestOf } from '../api/list-query.ts'
import type { Removals } from '../api/removals.ts'
import type { Api } from '../api/routes.ts'
import { Failure, notFound } from '../errors.ts'
import { send } from '../http/answer.ts'
import { conditionOf } from '../http/conditions.ts'
import { resources } from '../resources.ts'
import type { Storage } from '../storage/port.ts'
import { listSpacesQuery, spaceOperations, storeSpace, updateSpace } from './schema.ts'
import { changeSpace, findSpace, insertSpace, listSpaces, removeSpace } from './store.ts'

/** The five operations on spaces. */
export function spaceRoutes(api: Api, storage: Storage, removals: Removals): void {
  const { list, show, store, put, patch, delete: remove } = spaceOperations
  const { kept } = api

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
    const values = storeSpace.check(admitted.fields)
    if (values instanceof Failure) return values
    const claim = claimOf(exchange, admitted, key, storeSpace)
    return sendStored(exchange, { kept, claim, collection: api.urlOf(exchange, list) }, (to) =>
      insertSpace(to, admitted.caller.account, values),
    )
  })

  api.add([put, patch], async (exchange, { caller, fields }) => {
    const condition = conditionOf(exchange)
    const id = idOf(exchange, 'space')
    const change = updateSpace.check(fields)
    if (change instanceof Failure) {
      const { version } = found(await findSpace(storage, caller.account, id), 'space')
      condition?.check(version)
      return change
    }
    return sendRecord(exchange, found(await changeSpace(storage, caller.account, id, change, condition), 'space'))
  })

  api.add(remove, async (exchange, { caller }) => {
    const condition = conditionOf(exchange)
    const id = idOf(exchange, 'space')
    const isRemoved = await removeSpace(storage, caller.account, id, condition, (finish) => removals.wait(finish))
    return isRemoved ? send(exchange, 204) : notFound('space')
  })
}
