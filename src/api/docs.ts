/** The documents that `npm run docs` builds in `docs/`. */
import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { type ErrorCode, Failure, notFound } from '../errors.ts'
import { readScheme, type Scheme, withScheme } from '../frame/document.ts'
import type { Exchange, HandlerResult } from '../http/exchange.ts'
import { failures } from '../http/failures.ts'
import { addHeader, send, sendJson } from '../http/response.ts'
import type { Router } from '../http/router.ts'
import { plainContent, type StaticContent, sendStatic, staticContent } from '../http/static-content.ts'
import { program } from '../version.ts'
import type { PublicUrl } from './routes.ts'

const folder = new URL('../../docs/', import.meta.url)

/** The number of compressed OpenAPI documents in the cache. It is limited because clients may use any host. */
const maxDocuments = 8

const json = 'application/json; charset=utf-8'
const html = 'text/html; charset=utf-8'

/** The media types of static files by extension. */
const mediaTypes: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml; charset=utf-8',
}

/** Adds `/openapi.json` for programs, and for people `/docs`, the pages below it, and `/problems/{code}`. */
export function documents(routes: Router, publicUrl: PublicUrl): void {
  openApiDocument(routes, publicUrl)
  documentation(routes)
  problemPages(routes)
}

/** The document has the URL of this instance, because generated clients need an absolute URL. */
function openApiDocument(routes: Router, publicUrl: PublicUrl): void {
  const texts = new Map<'text', Promise<string>>()
  const compressed = new Map<string, Promise<StaticContent>>()

  async function documentFor(url: string): Promise<StaticContent> {
    const built = await cached(texts, 'text', async () => JSON.stringify(JSON.parse(await read('openapi.json'))))
    const text = built.replace('"url":"http://localhost:3000"', () => `"url":"${url}"`)
    if (!compressed.has(url) && compressed.size >= maxDocuments) return plainContent(json, text)
    return cached(compressed, url, () => staticContent(json, text))
  }

  routes.add('GET', '/openapi.json', async (exchange) => sendStatic(exchange, await documentFor(publicUrl(exchange))))
}

/** The API reference at `/docs`, and below it the pages of `docs/`, scripts and styles. */
function documentation(routes: Router): void {
  const paths = new Set(readdirSync(new URL('html/', folder), { encoding: 'utf8', recursive: true }).map(withSlashes))
  const files = new Map<string, Promise<StaticContent>>()

  /** Without a file, the failure is `route_not_found`. */
  async function sendFile(exchange: Exchange, path: string): Promise<HandlerResult> {
    if (!paths.has(path))
      return new Failure('route_not_found', 'The documentation has no such file. The API reference begins at /docs.')
    const type = mediaTypes[path.slice(path.lastIndexOf('.') + 1)]
    const scheme = type === undefined ? readScheme(exchange) : 'system'
    const file = await cached(files, `${path} ${scheme}`, async () =>
      staticContent(type ?? html, await readPage(path, scheme)),
    )
    addHeader(exchange, 'content-security-policy', contentSecurityPolicy)
    return sendStatic(exchange, file)
  }

  routes.add('GET', '/docs', async (exchange) => {
    // The page has a single URL, so that an API key in a query does not stay in the address bar.
    return exchange.target.includes('?') ? redirect(exchange) : sendFile(exchange, 'reference.html')
  })
  routes.add('GET', '/docs/*', async (exchange) => {
    const { '*': path = '' } = exchange.params
    if (path === '' || path === 'static/') return redirect(exchange)
    return sendFile(exchange, path.startsWith('static/') ? path : `manual/${path}.html`)
  })
}

/** The `type` of every problem: a page, or JSON if `Accept` asks for JSON and not for HTML. */
function problemPages(routes: Router): void {
  routes.add('GET', '/problems/:code', async (exchange) => {
    const { code = '' } = exchange.params
    if (!isErrorCode(code)) return notFound('problem')
    addHeader(exchange, 'vary', 'Accept')
    if (asksForJson(exchange.headers.accept)) return sendJson(exchange, 200, await read(`html/problems/${code}.json`))
    const page = await readPage(`problems/${code}.html`, readScheme(exchange))
    addHeader(exchange, 'content-security-policy', problemPolicy)
    addHeader(exchange, 'content-type', html)
    return send(exchange, 200, page)
  })
}

/** Allows only this server, so that the pages work offline and other servers do not see their visitors. */
const contentSecurityPolicy =
  "default-src 'none'; base-uri 'none'; connect-src 'self'; form-action 'none'; " +
  "frame-ancestors 'none'; img-src 'self' blob:; script-src 'self'; style-src 'self'"

/** Pages of problems run no scripts. */
const problemPolicy = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; img-src 'self'; style-src 'self'"

async function readPage(path: string, scheme: Scheme): Promise<string> {
  return withScheme(await read(`html/${path}`), scheme)
}

/** Reads a built file. Except for pages of the manual, which explain both commands, it gets the command of this installation. */
async function read(path: string): Promise<string> {
  const text = await readFile(new URL(path, folder), 'utf8')
  return path.startsWith('html/manual/') ? text : text.replaceAll('npx waymark', program)
}

function withSlashes(path: string): string {
  return path.replaceAll('\\', '/')
}

function redirect(exchange: Exchange): HandlerResult {
  addHeader(exchange, 'location', '/docs')
  return send(exchange, 302)
}

function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(failures, text)
}

function asksForJson(accept = ''): boolean {
  return /\bapplication\/json\b/i.test(accept) && !/\btext\/html\b/i.test(accept)
}

/** Returns the cached result for the key, or runs `work` and caches its result unless it fails. */
function cached<Key, T>(results: Map<Key, Promise<T>>, key: Key, work: () => Promise<T>): Promise<T> {
  let result = results.get(key)
  if (result === undefined) {
    result = work()
    results.set(key, result)
    result.catch(() => results.delete(key))
  }
  return result
}
