import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Failure } from '../errors.ts'
import { addHeader, send, sendJson } from './answer.ts'
import { conditionOf } from './conditions.ts'
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
  async function sendFile(name: string, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { contentSecurityPolicy, files } = await reference()
    const file = files.get(name)
    if (file === undefined) throw new Failure('route_not_found', 'The reference has no such file. It begins at /docs.')
    const isKnown = conditionOf(request)?.isKnown(file.version)
    addHeader(reply, 'etag', entityTagOf(file.version))
    addHeader(reply, 'cache-control', 'no-cache')
    addHeader(reply, 'content-security-policy', contentSecurityPolicy)
    if (isKnown) return send(reply, 304)
    addHeader(reply, 'content-type', file.type)
    send(reply, 200, file.content)
  }

  app.get('/', async (_, reply) => redirect(reply))
  app.get('/openapi.json', async (_, reply) => sendJson(reply, 200, await document()))
  app.get('/docs', async (request, reply) => {
    // One address for the page, so that a key that was put into a query does not stay there.
    return request.url.includes('?') ? redirect(reply) : sendFile('index.html', request, reply)
  })
  app.get('/docs/*', async (request, reply) => {
    const { '*': path } = request.params as { '*': string }
    if (path === '' || path === 'static/') return redirect(reply)
    return sendFile(path.startsWith('static/') ? path.slice('static/'.length) : '', request, reply)
  })
}

function redirect(reply: FastifyReply): void {
  addHeader(reply, 'location', '/docs')
  send(reply, 302)
}

/** Does the work at the first call, and gives its result at every call. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined
  return () => {
    result ??= work()
    return result
  }
}
