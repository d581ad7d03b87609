import { readFile } from 'node:fs/promises'
import { Failure } from '../errors.ts'
import { readScheme, type Scheme } from '../frame/document.ts'
import type { Exchange, Outcome } from '../http/exchange.ts'
import { addHeader, send } from '../http/response.ts'
import type { Router } from '../http/router.ts'
import { plainContent, type StaticContent, sendStatic, staticContent } from '../http/static-content.ts'
import { program } from '../version.ts'
import type { ReferenceFiles } from './reference/page.ts'
import type { PublicAddress } from './routes.ts'

/** The number of compressed documents in the cache. It is limited because clients may use any host. */
const maxDocuments = 8

const json = 'application/json; charset=utf-8'

/**
 * Adds the documents: `/openapi.json` for programs, and for people `/docs` and the pages below it. Their code is loaded at
 * the first request.
 */
export function documents(routes: Router, address: PublicAddress): void {
  const texts = new Map<'document', Promise<string>>()
  const compressed = new Map<string, Promise<StaticContent>>()
  const references = new Map<'reference', Promise<ReferenceFiles>>()
  const manuals = new Map<string, Promise<StaticContent>>()

  const documentText = () =>
    cached(texts, 'document', async () => {
      const text = await readFile(new URL('../../docs/openapi.json', import.meta.url), 'utf8')
      return JSON.stringify(JSON.parse(text)).replaceAll('npx waymark', program)
    })

  /** `url` is part of the document, because generated clients need an absolute URL. */
  async function documentFor(url: string): Promise<StaticContent> {
    const text = (await documentText()).replace('"url":"http://localhost:3000"', `"url":"${url}"`)
    if (!compressed.has(url) && compressed.size >= maxDocuments) return plainContent(json, text)
    return cached(compressed, url, () => staticContent(json, text))
  }

  const reference = () =>
    cached(references, 'reference', async () => {
      const { referenceFiles } = await import('./reference/page.ts')
      return referenceFiles(await documentText())
    })

  /** Without a file, the failure is `route_not_found`. */
  function sendFile(exchange: Exchange, file: StaticContent | undefined): Outcome {
    if (file === undefined)
      return new Failure('route_not_found', 'The documentation has no such file. The API reference begins at /docs.')
    addHeader(exchange, 'content-security-policy', contentSecurityPolicy)
    return sendStatic(exchange, file)
  }

  routes.add('GET', '/openapi.json', async (exchange) => sendStatic(exchange, await documentFor(address(exchange))))
  routes.add('GET', '/docs', async (exchange) => {
    // The page has a single URL, so that an API key in a query does not stay in the address bar.
    if (exchange.target.includes('?')) return redirect(exchange)
    return sendFile(exchange, (await reference()).pages.get(readScheme(exchange)))
  })
  routes.add('GET', '/docs/*', async (exchange) => {
    const { '*': path = '' } = exchange.params
    if (path === '' || path === 'static/') return redirect(exchange)
    const file = path.startsWith('static/')
      ? (await reference()).files.get(path)
      : await manualPage(manuals, path, readScheme(exchange))
    return sendFile(exchange, file)
  })
}

/** Returns a page of `docs/` from the cache; undefined if there is none with this name. */
async function manualPage(
  cache: Map<string, Promise<StaticContent>>,
  name: string,
  scheme: Scheme,
): Promise<StaticContent | undefined> {
  const { manualPages, renderManualPage } = await import('./manual.ts')
  if (!manualPages.has(name)) return undefined
  return cached(cache, `${name} ${scheme}`, () =>
    staticContent('text/html; charset=utf-8', renderManualPage(name, scheme)),
  )
}

/** Allows only this server, so that the page works offline and other servers do not see its visitors. */
const contentSecurityPolicy =
  "default-src 'none'; base-uri 'none'; connect-src 'self'; form-action 'none'; " +
  "frame-ancestors 'none'; img-src 'self' blob:; script-src 'self'; style-src 'self'"

function redirect(exchange: Exchange): Outcome {
  addHeader(exchange, 'location', '/docs')
  return send(exchange, 302)
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
