import type { FastifyInstance, FastifyRequest } from 'fastify'
import { validationFailed } from '../errors.ts'
import { accountOf } from '../http/authentication.ts'
import type { PublicAddress } from '../http/base-url.ts'
import { fieldsOf } from '../http/body.ts'
import { found, idOf, sendPage } from '../http/envelopes.ts'
import { checkListQuery, listingOf } from '../http/list-query.ts'
import { declare } from '../http/operation.ts'
import type { Db } from '../storage/port.ts'
import { spaceOperations, storeSpace, updateSpace } from './schema.ts'
import { changeSpace, findSpace, insertSpace, listSpaces, removeSpace } from './store.ts'

/** The five operations on spaces. Every route is behind `requireKey`. */
export function spaceRoutes(app: FastifyInstance, db: Db, address: PublicAddress): void {
  const { list, show, store, put, patch, delete: remove } = spaceOperations
  const urlOf = (request: FastifyRequest) => address(request) + app.prefix + list.path

  app.route({
    ...declare(list),
    handler: async (request, reply) => {
      const query = checkListQuery(request.query)
      return sendPage(reply, query, await listSpaces(db, accountOf(request), listingOf(query)), urlOf(request))
    },
  })

  app.route({
    ...declare(show),
    handler: async (request) => {
      const id = idOf(request, 'space')
      return { data: found(await findSpace(db, accountOf(request), id), 'space') }
    },
  })

  app.route({
    ...declare(store),
    handler: async (request, reply) => {
      const { name, color } = storeSpace.check(fieldsOf(request))
      const space = await insertSpace(db, accountOf(request), name, color)
      reply.code(201).header('location', `${urlOf(request)}/${space.id}`)
      return { data: space }
    },
  })

  app.route({
    ...declare(put, patch),
    handler: async (request) => {
      const account = accountOf(request)
      const id = idOf(request, 'space')
      const { values, violations } = updateSpace.read(fieldsOf(request))
      if (violations.length > 0) {
        found(await findSpace(db, account, id), 'space')
        throw validationFailed(violations)
      }
      return { data: found(await changeSpace(db, account, id, values), 'space') }
    },
  })

  app.route({
    ...declare(remove),
    handler: async (request, reply) => {
      const id = idOf(request, 'space')
      found((await removeSpace(db, accountOf(request), id)) || undefined, 'space')
      return reply.code(204).send()
    },
  })
}
