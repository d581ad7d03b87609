import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Refusal, type Violation, validationFailed } from '../errors.ts'
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

/** The five operations on domains. Every route is behind `requireKey`. */
export function domainRoutes(app: FastifyInstance, db: Db, kept: KeptAnswers, address: PublicAddress): void {
  const { list, show, store, put, patch, delete: remove } = domainOperations
  const urlOf = (request: FastifyRequest) => address(request) + app.prefix + list.path

  app.route({
    ...declare(list),
    handler: async (request, reply) => {
      const query = checkListQuery(request.query)
      return sendPage(reply, query, await listDomains(db, accountOf(request), listingOf(query)), urlOf(request))
    },
  })

  app.route({
    ...declare(show),
    handler: async (request, reply) => {
      const condition = conditionOf(request)
      const id = idOf(request, 'domain')
      return sendRecord(reply, found(await findDomain(db, accountOf(request), id), 'domain'), condition)
    },
  })

  app.route({
    ...declare(store),
    handler: async (request, reply) => {
      const claim = claimOf(request)
      const { name, ...urls } = storeDomain.check(fieldsOf(request))
      const insert = (to: Db) => insertDomain(to, accountOf(request), name, urls)
      if (claim !== null) return sendStoredOnce(reply, urlOf(request), { claim, kept }, insert)
      return sendStored(reply, urlOf(request), await insert(db))
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
    handler: async (request, reply) => {
      const condition = conditionOf(request)
      const id = idOf(request, 'domain')
      found((await removeDomain(db, accountOf(request), id, condition)) || undefined, 'domain')
      return reply.code(204).send()
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
