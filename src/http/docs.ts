import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Failure } from '../errors.ts'
import { conditionOf, sendNotModified } from './conditions.ts'
import { entityTagOf } from './entity-tags.ts'
import type { Operation } from './operation.ts'

/**
 * The documents of the API: `/openapi.json` for programs, `/docs` for people. Each is made when it is first asked for,
 * since together they would take as long to load as a quarter of all the rest.
 */
export function documents(app: FastifyInstance, operations: readonly Operation[]): void {
  const document = once(async () => JSON.stringify((await import('./openapi.ts')).openApiDocument(operations)))
  const reference = once(async () => {
    const { contentSecurityPolicy, referenceFiles } = await import('./reference.ts')
    return { contentSecurityPolicy, files: referenceFiles() }
  })

  /** Sends a file of the reference, or says that the client has it already. */
  async function send(name: string, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { contentSecurityPolicy, files } = await reference()
    const file = files.get(name)
    if (file === undefined) throw new Failure('route_not_found', 'The reference has no such file. It begins at /docs.')
    reply.headers({
      etag: entityTagOf(file.version),
      'cache-control': 'no-cache',
      'content-security-policy': contentSecurityPolicy,
    })
    if (conditionOf(request)?.isKnown(file.version)) return sendNotModified(reply)
    return reply.type(file.type).send(file.content)
  }

  app.get('/', async (_, reply) => reply.redirect('/docs'))
  app.get('/openapi.json', async (_, reply) => {
    reply.type('application/json; charset=utf-8')
    return document()
  })
  app.get('/docs', async (request, reply) => {
    // One address for the page, so that a key that was put into a query does not stay there.
    return request.url.includes('?') ? reply.redirect('/docs') : send('index.html', request, reply)
  })
  app.get('/docs/*', async (request, reply) => {
    const { '*': path } = request.params as { '*': string }
    if (path === '' || path === 'static/') return reply.redirect('/docs')
    return send(path.startsWith('static/') ? path.slice('static/'.length) : '', request, reply)
  })
}

/** Does the work at the first call, and gives its result at every call. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined
  return () => {
    result ??= work()
    return result
  }
}
