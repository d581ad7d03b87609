import { accountOf } from '../api/authentication.ts'
import { found, idOf, sendPage } from '../api/envelopes.ts'
import { claimOf, sendStored, sendStoredOnce } from '../api/idempotency.ts'
import { checkListQuery, listingOf } from '../api/list-query.ts'
import { apiPrefix } from '../api/operation.ts'
import type { PublicAddress } from '../api/public-address.ts'
import type { OperationRoutes } from '../api/routes.ts'
import { Failure, validationFailed } from '../errors.ts'
import { send } from '../http/answer.ts'
import { conditionOf, sendRecord } from '../http/conditions.ts'
import type { Exchange } from '../http/exchange.ts'
import { fail } from '../http/failing.ts'
import type { KeptAnswers } from '../idempotency/kept-answers.ts'
import type { Db } from '../storage/port.ts'
import { spaceOperations, storeSpace, updateSpace } from './schema.ts'
import { changeSpace, findSpace, insertSpace, listSpaces, removeSpace } from './store.ts'

/**
 * The five operations on spaces. A form that does not hold is answered where it is read, not thrown: an exception takes a
 * third as long as all the rest of such a request.
 */
export function spaceRoutes(routes: OperationRoutes, db: Db, kept: KeptAnswers, address: PublicAddress): void {
  const { list, show, store, put, patch, delete: remove } = spaceOperations
  const urlOf = (exchange: Exchange) => address(exchange) + apiPrefix + list.path

  routes.add(list, (exchange) => {
    const query = checkListQuery(exchange.query)
    if (query instanceof Failure) return fail(exchange, query)
    const page = listSpaces(db, accountOf(exchange), listingOf(query))
    return page.then((page) => sendPage(exchange, query, page, urlOf(exchange)))
  })

  routes.add(show, (exchange) => {
    const condition = conditionOf(exchange)
    const record = findSpace(db, accountOf(exchange), idOf(exchange, 'space'))
    return record.then((record) => sendRecord(exchange, found(record, 'space'), condition))
  })

  routes.add(store, (exchange) => {
    const claim = claimOf(exchange)
    const checked = storeSpace.check(exchange.fields)
    if (checked instanceof Failure) return fail(exchange, checked)
    const { name, color } = checked
    const insert = (to: Db) => insertSpace(to, accountOf(exchange), name, color)
    if (claim !== null) return sendStoredOnce(exchange, urlOf(exchange), { claim, kept }, insert)
    return insert(db).then((stored) => sendStored(exchange, urlOf(exchange), stored))
  })

  routes.add([put, patch], async (exchange) => {
    const condition = conditionOf(exchange)
    const account = accountOf(exchange)
    const id = idOf(exchange, 'space')
    const { values, violations } = updateSpace.read(exchange.fields)
    if (violations.length > 0) {
      const { version } = found(await findSpace(db, account, id), 'space')
      condition?.check(version)
      throw validationFailed(violations)
    }
    return sendRecord(exchange, found(await changeSpace(db, account, id, values, condition), 'space'))
  })

  routes.add(remove, (exchange) => {
    const condition = conditionOf(exchange)
    const removed = removeSpace(db, accountOf(exchange), idOf(exchange, 'space'), condition)
    return removed.then((isRemoved) => {
      found(isRemoved || undefined, 'space')
      send(exchange, 204)
    })
  })
}
