import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Refusal, type Violation, validationFailed } from '../errors.ts'
import { send } from '../http/answer.ts'
import { accountOf } from '../http/authentication.ts'
import type { PublicAddress } from '../http/base-url.ts'
import { fieldsOf } from '../http/body.ts'
import { conditionOf, sendRecord } from '../http/conditions.ts'
import { found, idOf, sendPage } from '../http/envelopes.ts'
import { claimOf, sendStored, sendStoredOnce } from '../http/idempotency.ts'
import { checkListQuery, listingOf } from '../http/list-query.ts'
import { declare } from '../http/operation.ts'
import type { KeptAnswers } from '../idempotency/kept-answers.ts'
import type { Db } from '../storage/port.ts'
import { parseHostName } from './domain.ts'
import { type Domain, domainOperations, storeDomain, updateDomain } from './schema.ts'
import { changeDomain, findDomain, insertDomain, listDomains, removeDomain } from './store.ts'

/**
 * The five operations on domains. Every route is behind `requireKey`. What a request itself gets wrong is thrown before there is
 * a promise, unless a record must be looked at first: an exception costs a tenth of a promise that is rejected at once.
 */
export function domainRoutes(app: FastifyInstance, db: Db, kept: KeptAnswers, address: PublicAddress): void {
  const { list, show, store, put, patch, delete: remove } = domainOperations
  const urlOf = (request: FastifyRequest) => address(request) + app.prefix + list.path

  app.route({
    ...declare(list),
    handler: (request, reply) => {
      const query = checkListQuery(request.query)
      const page = listDomains(db, accountOf(request), listingOf(query))
      return page.then((page) => sendPage(reply, query, page, urlOf(request)))
    },
  })

  app.route({
    ...declare(show),
    handler: (request, reply) => {
      const condition = conditionOf(request)
      const record = findDomain(db, accountOf(request), idOf(request, 'domain'))
      return record.then((record) => sendRecord(reply, found(record, 'domain'), condition))
    },
  })

  app.route({
    ...declare(store),
    handler: (request, reply) => {
      const claim = claimOf(request)
      const { name, ...urls } = storeDomain.check(fieldsOf(request))
      const insert = (to: Db) => insertDomain(to, accountOf(request), name, urls)
      if (claim !== null) return sendStoredOnce(reply, urlOf(request), { claim, kept }, insert)
      return insert(db).then((stored) => sendStored(reply, urlOf(request), stored))
    },
  })

  app.route({
    ...declare(put, patch),
    handler: async (request, reply) => {
      const condition = conditionOf(request)
      const account = accountOf(request)
      const id = idOf(request, 'domain')
      const { values, violations } = updateDomain.read(fieldsOf(request))
      if (violations.length > 0 || values.name !== undefined) {
        const { record, version } = found(await findDomain(db, account, id), 'domain')
        condition?.check(version)
        refuse([...violations, ...renaming(record, values.name)])
      }
      return sendRecord(reply, found(await changeDomain(db, account, id, values, condition), 'domain'))
    },
  })

  app.route({
    ...declare(remove),
    handler: (request, reply) => {
      const condition = conditionOf(request)
      const removed = removeDomain(db, accountOf(request), idOf(request, 'domain'), condition)
      return removed.then((isRemoved) => {
        found(isRemoved || undefined, 'domain')
        send(reply, 204)
      })
    },
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
