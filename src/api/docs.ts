import { Failure } from '../errors.ts'
import type { Exchange, Outcome } from '../http/exchange.ts'
import type { Fields } from '../http/form-encoding.ts'
import { addHeader, send } from '../http/response.ts'
import type { Router } from '../http/router.ts'
import { plainContent, type StaticContent, sendStatic, staticContent } from '../http/static-content.ts'
import { type Bodies, documentQuery } from './document-query.ts'
import type { Operation } from './operations.ts'
import type { PublicAddress } from './routes.ts'

/** Limits the documents that are compressed and cached, because clients may ask for any host. Others are sent as built. */
const maxDocuments = 8

/**
 * The documents of the API: `/openapi.json` for programs, `/docs` for people. Their code is loaded when one of them is
 * first asked for.
 */
export function documents(router: Router, operations: readonly Operation[], address: PublicAddress): void {
  const templateOf = (bodies: Bodies) => async () =>
    JSON.stringify((await import('./openapi/document.ts')).openApiDocument(operations, mark, bodies))
  const templates = { all: once(templateOf('all')), json: once(templateOf('json')) }
  const files = once(async () =>
    (await import('./reference/page.ts')).referenceFiles(JSON.parse(await templates.all())),
  )
  const cached = new Map<string, Promise<StaticContent>>()

  /** The document names the address that was asked, since generated clients need an absolute URL. */
  async function documentFor(url: string, bodies: Bodies): Promise<StaticContent> {
    const text = async () => (await templates[bodies]()).replace(mark, url)
    const name = `${bodies} ${url}`
    const isKept = cached.has(name) || cached.size < maxDocuments
    if (!isKept) return plainContent(json, await text())
    return keptIn(cached, name, async () => staticContent(json, await text()))
  }

  async function sendDocument(exchange: Exchange): Promise<Outcome> {
    // Unknown parameters are ignored, as everywhere outside the API.
    const { bodies } = exchange.query as Fields
    const query = documentQuery.check({ bodies })
    return query instanceof Failure ? query : sendStatic(exchange, await documentFor(address(exchange), query.bodies))
  }

  async function sendFile(exchange: Exchange, name: string): Promise<Outcome> {
    const file = (await files()).get(name)
    if (file === undefined) return new Failure('route_not_found', 'The reference has no such file. It begins at /docs.')
    addHeader(exchange, 'content-security-policy', contentSecurityPolicy)
    return sendStatic(exchange, file)
  }

  router.add('GET', '/openapi.json', sendDocument)
  router.add('GET', '/docs', (exchange) => {
    // One address for the page, so that a key that was put into a query does not stay there.
    return exchange.target.includes('?') ? redirect(exchange) : sendFile(exchange, '')
  })
  router.add('GET', '/docs/*', (exchange) => {
    const { '*': path = '' } = exchange.params
    return path === '' || path === 'static/' ? redirect(exchange) : sendFile(exchange, path)
  })
}

const json = 'application/json; charset=utf-8'

/** A placeholder for the address, so that the document is built only once. */
const mark = 'https://address.invalid'

/** Nothing but this server: the page works without a network, and tells no one that it was opened. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "base-uri 'none'",
  "connect-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "img-src 'self' blob:",
  "script-src 'self'",
  "style-src 'self'",
].join('; ')

function redirect(exchange: Exchange): Outcome {
  addHeader(exchange, 'location', '/docs')
  return send(exchange, 302)
}

/** Does the work at the first call and keeps the result for all later calls, unless the work fails. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  const results = new Map<string, Promise<T>>()
  return () => keptIn(results, '', work)
}

/** The result kept under this name, or else that of the work, which is kept unless it fails. */
function keptIn<T>(results: Map<string, Promise<T>>, name: string, work: () => Promise<T>): Promise<T> {
  const known = results.get(name)
  if (known !== undefined) return known
  const made = work()
  results.set(name, made)
  made.catch(() => results.delete(name))
  return made
}
