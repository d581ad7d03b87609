import { Failure } from '../errors.ts'
import { addHeader, send, sendJson } from '../http/answer.ts'
import { addEntityTag, conditionOf } from '../http/conditions.ts'
import type { Exchange, Outcome } from '../http/exchange.ts'
import type { Router } from '../http/router.ts'
import type { Operation } from './operation.ts'

/**
 * The documents of the API: `/openapi.json` for programs, `/docs` for people. Each is made when it is first asked for,
 * since together they would take as long to load as a quarter of all the rest.
 */
export function documents(router: Router, operations: readonly Operation[]): void {
  const document = once(async () => JSON.stringify((await import('./openapi/document.ts')).openApiDocument(operations)))
  const reference = once(async () => {
    const { contentSecurityPolicy, referenceFiles } = await import('./reference.ts')
    return { contentSecurityPolicy, files: referenceFiles() }
  })

  /** Sends a file of the reference, or says that the client has it already. */
  async function sendFile(name: string, exchange: Exchange): Promise<Outcome> {
    const { contentSecurityPolicy, files } = await reference()
    const file = files.get(name)
    if (file === undefined) return new Failure('route_not_found', 'The reference has no such file. It begins at /docs.')
    const isKnown = addEntityTag(exchange, file.version, conditionOf(exchange))
    addHeader(exchange, 'cache-control', 'no-cache')
    addHeader(exchange, 'content-security-policy', contentSecurityPolicy)
    if (isKnown) return send(exchange, 304)
    addHeader(exchange, 'content-type', file.type)
    return send(exchange, 200, file.content)
  }

  router.add(['GET'], '/', redirect)
  router.add(['GET'], '/openapi.json', async (exchange) => sendJson(exchange, 200, await document()))
  router.add(['GET'], '/docs', (exchange) => {
    // One address for the page, so that a key that was put into a query does not stay there.
    return exchange.target.includes('?') ? redirect(exchange) : sendFile('index.html', exchange)
  })
  router.add(['GET'], '/docs/*', (exchange) => {
    const { '*': path = '' } = exchange.params
    if (path === '' || path === 'static/') return redirect(exchange)
    return sendFile(path.startsWith('static/') ? path.slice('static/'.length) : '', exchange)
  })
}

function redirect(exchange: Exchange): Outcome {
  addHeader(exchange, 'location', '/docs')
  return send(exchange, 302)
}

/** Does the work at the first call, and gives its result at every call. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined
  return () => {
    result ??= work()
    return result
  }
}
