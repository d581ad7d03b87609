import { accountOf } from '../api/authentication.ts'
import { found, idOf, sendPage } from '../api/envelopes.ts'
import { claimOf, sendStored, sendStoredOnce } from '../api/idempotency.ts'
import { checkListQuery, listingOf } from '../api/list-query.ts'
import { apiPrefix } from '../api/operation.ts'
import type { PublicAddress } from '../api/public-address.ts'
import type { OperationRoutes } from '../api/routes.ts'
import { Failure, Refusal, type Violation, validationFailed } from '../errors.ts'
import { send } from '../http/answer.ts'
import { conditionOf, sendRecord } from '../http/conditions.ts'
import type { Exchange } from '../http/exchange.ts'
import { fail } from '../http/failing.ts'
import type { KeptAnswers } from '../idempotency/kept-answers.ts'
import { parseHostName } from '../names/host-name.ts'
import type { Db } from '../storage/port.ts'
import { type Domain, domainOperations, storeDomain, updateDomain } from './schema.ts'
import { changeDomain, findDomain, insertDomain, listDomains, removeDomain } from './store.ts'

/**
 * The five operations on domains. A form that does not hold is answered where it is read, not thrown: an exception takes a
 * third as long as all the rest of such a request.
 */
export function domainRoutes(routes: OperationRoutes, db: Db, kept: KeptAnswers, address: PublicAddress): void {
  const { list, show, store, put, patch, delete: remove } = domainOperations
  const urlOf = (exchange: Exchange) => address(exchange) + apiPrefix + list.path

  routes.add(list, (exchange) => {
    const query = checkListQuery(exchange.query)
    if (query instanceof Failure) return fail(exchange, query)
    const page = listDomains(db, accountOf(exchange), listingOf(query))
    return page.then((page) => sendPage(exchange, query, page, urlOf(exchange)))
  })

  routes.add(show, (exchange) => {
    const condition = conditionOf(exchange)
    const record = findDomain(db, accountOf(exchange), idOf(exchange, 'domain'))
    return record.then((record) => sendRecord(exchange, found(record, 'domain'), condition))
  })

  routes.add(store, (exchange) => {
    const claim = claimOf(exchange)
    const checked = storeDomain.check(exchange.fields)
    if (checked instanceof Failure) return fail(exchange, checked)
    const { name, ...urls } = checked
    const insert = (to: Db) => insertDomain(to, accountOf(exchange), name, urls)
    if (claim !== null) return sendStoredOnce(exchange, urlOf(exchange), { claim, kept }, insert)
    return insert(db).then((stored) => sendStored(exchange, urlOf(exchange), stored))
  })

  routes.add([put, patch], async (exchange) => {
    const condition = conditionOf(exchange)
    const account = accountOf(exchange)
    const id = idOf(exchange, 'domain')
    const { values, violations } = updateDomain.read(exchange.fields)
    if (violations.length > 0 || values.name !== undefined) {
      const { record, version } = found(await findDomain(db, account, id), 'domain')
      condition?.check(version)
      refuse([...violations, ...renaming(record, values.name)])
    }
    return sendRecord(exchange, found(await changeDomain(db, account, id, values, condition), 'domain'))
  })

  routes.add(remove, (exchange) => {
    const condition = conditionOf(exchange)
    const removed = removeDomain(db, accountOf(exchange), idOf(exchange, 'domain'), condition)
    return removed.then((isRemoved) => {
      found(isRemoved || undefined, 'domain')
      send(exchange, 204)
    })
  })
}

function refuse(violations: readonly Violation[]): void {
  if (violations.length > 0) throw validationFailed(violations)
}

/** A name that is sent back is no rename; any other would look like one that worked. */
function renaming(domain: Domain, sent: string | undefined): Violation[] {
  if (sent === undefined) return []
  const name = parseHostName(sent)
  if (!(name instanceof Refusal) && name.name === domain.name) return []
  const message = `The name field cannot be changed: it stays ${domain.name}. Store another domain instead.`
  return [{ field: 'name', code: 'prohibited', message }]
}
