import type { FastifyInstance } from 'fastify'
import type { Operation } from './operation.ts'

/**
 * The documents of the API: `/openapi.json` for programs, `/docs` for people. Each is made when it is first asked for,
 * since together they would take as long to load as a quarter of all the rest.
 */
export function documents(
  app: FastifyInstance,
  operations: readonly Operation[],
  answerErrors: (app: FastifyInstance) => void,
): void {
  const document = once(async () => (await import('./openapi.ts')).openApiDocument(operations))
  const documentText = once(async () => JSON.stringify(await document()))
  const reference = once(async () => (await import('./reference.ts')).openReference(await document(), answerErrors))

  app.get('/', async (_, reply) => reply.redirect('/docs'))
  app.get('/openapi.json', async (_, reply) => {
    reply.type('application/json; charset=utf-8')
    return documentText()
  })
  app.get('/docs', async (request, reply) => {
    // The page finds its files by its own address, which a query would garble.
    if (request.url.includes('?')) return reply.redirect('/docs')
    return (await reference()).answer(request, reply)
  })
  app.get('/docs/*', async (request, reply) => {
    const { '*': file } = request.params as { '*': string }
    if (file === '' || file.endsWith('/')) return reply.redirect('/docs')
    return (await reference()).answer(request, reply)
  })
  app.addHook('onClose', async () => {
    if (reference.hasBegun()) await (await reference()).close()
  })
}

/** Does the work at the first call, and gives its result at every call. */
function once<T>(work: () => Promise<T>): { (): Promise<T>; hasBegun(): boolean } {
  let result: Promise<T> | undefined
  const call = () => {
    result ??= work()
    return result
  }
  return Object.assign(call, { hasBegun: () => result !== undefined })
}
