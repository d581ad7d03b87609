import type { FastifyInstance, FastifyRequest } from 'fastify'
import { validationFailed } from '../errors.ts'
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
import { spaceOperations, storeSpace, updateSpace } from './schema.ts'
import { changeSpace, findSpace, insertSpace, listSpaces, removeSpace } from './store.ts'

/**
 * The five operations on spaces. Every route is behind `requireKey`. What a request itself gets wrong is thrown before there is
 * a promise, unless a record must be looked at first: an exception costs a tenth of a promise that is rejected at once.
 */
export function spaceRoutes(app: FastifyInstance, db: Db, kept: KeptAnswers, address: PublicAddress): void {
  const { list, show, store, put, patch, delete: remove } = spaceOperations
  const urlOf = (request: FastifyRequest) => address(request) + app.prefix + list.path

  app.route({
    ...declare(list),
    handler: (request, reply) => {
      const query = checkListQuery(request.query)
      const page = listSpaces(db, accountOf(request), listingOf(query))
      return page.then((page) => sendPage(reply, query, page, urlOf(request)))
    },
  })

  app.route({
    ...declare(show),
    handler: (request, reply) => {
      const condition = conditionOf(request)
      const record = findSpace(db, accountOf(request), idOf(request, 'space'))
      return record.then((record) => sendRecord(reply, found(record, 'space'), condition))
    },
  })

  app.route({
    ...declare(store),
    handler: (request, reply) => {
      const claim = claimOf(request)
      const { name, color } = storeSpace.check(fieldsOf(request))
      const insert = (to: Db) => insertSpace(to, accountOf(request), name, color)
      if (claim !== null) return sendStoredOnce(reply, urlOf(request), { claim, kept }, insert)
      return insert(db).then((stored) => sendStored(reply, urlOf(request), stored))
    },
  })

  app.route({
    ...declare(put, patch),
    handler: async (request, reply) => {
      const condition = conditionOf(request)
      const account = accountOf(request)
      const id = idOf(request, 'space')
      const { values, violations } = updateSpace.read(fieldsOf(request))
      if (violations.length > 0) {
        const { version } = found(await findSpace(db, account, id), 'space')
        condition?.check(version)
        throw validationFailed(violations)
      }
      return sendRecord(reply, found(await changeSpace(db, account, id, values, condition), 'space'))
    },
  })

  app.route({
    ...declare(remove),
    handler: (request, reply) => {
      const condition = conditionOf(request)
      const removed = removeSpace(db, accountOf(request), idOf(request, 'space'), condition)
      return removed.then((isRemoved) => {
        found(isRemoved || undefined, 'space')
        send(reply, 204)
      })
    },
  })
}
