/** The redirects themselves: what they are made of, ready to be sent. */
import { setImmediate as endOfTurn } from 'node:timers/promises'
import type { Exchange } from '../http/exchange.ts'
import { addHeader, send, sendReady } from '../http/response.ts'
import { LruCache } from '../lib/lru-cache.ts'
import type { ServedLink } from './directory.ts'
import { locationOf, withQuery } from './location.ts'
import { type Target, targetOf } from './loop.ts'
import { redirectPage } from './pages.ts'
import { unkept } from './wording.ts'

/** A redirect to one place, ready to be sent. */
export interface Redirect {
  readonly target: Target
  readonly location: string
  /** Names and values in turn. */
  readonly fields: readonly string[]
  readonly body: string
}

/** The redirect of a link, which is made once. */
export function redirectOf(link: ServedLink): Redirect {
  link.ready ??= redirectTo(locationOf(link.url), link.redirect_status)
  return link.ready as Redirect
}

/** Sends a visitor to where the link leads: with the link's own status, or 303 after a form. */
export function sendToLink(exchange: Exchange, link: ServedLink, query: string): Promise<undefined> {
  const ready = redirectOf(link)
  const status = exchange.method === 'POST' ? 303 : link.redirect_status
  const location = link.forward_query ? withQuery(ready.location, query) : ready.location
  const isReady = location === ready.location && status === link.redirect_status
  return sendRedirect(exchange, status, isReady ? ready : redirectTo(location, status))
}

/** Redirects to homepages and pages for visitors who are lost: a domain has few of them, which many visits share. */
const known = new LruCache<string, Redirect>({ maxEntries: 1_000 })

/** The redirect to one of the other URLs of a link or its domain. */
export function elsewhere(url: string): Redirect {
  const ready = known.get(url) ?? redirectTo(locationOf(url), 302)
  known.set(url, ready)
  return ready
}

/** Sends a visitor to one of the other URLs of a link or its domain. */
export function sendElsewhere(exchange: Exchange, redirect: Redirect): Promise<undefined> {
  return sendRedirect(exchange, 302, redirect)
}

/** The redirects of one turn of the event loop leave together, so that a proxy in front is woken once for all of them. */
async function sendRedirect(exchange: Exchange, status: number, { fields, body }: Redirect): Promise<undefined> {
  await endOfTurn()
  exchange.headerFields.push(...fields)
  return sendReady(exchange, status, body)
}

/** Makes a redirect to a location, which is sent as it is. */
export function redirectTo(location: string, status: number): Redirect {
  const body = redirectPage(location)
  const isPermanent = status === 301 || status === 308
  const headers = {
    location,
    ...unkept,
    ...(isPermanent && { 'cache-control': 'private, max-age=60' }),
    'content-type': 'text/html; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
  }
  return { location, target: targetOf(location), fields: Object.entries(headers).flat(), body }
}

/** What robots may visit: everything, or they would not see that it is not to be indexed. */
export function sendRobots(exchange: Exchange): undefined {
  addHeader(exchange, 'content-type', 'text/plain; charset=utf-8')
  addHeader(exchange, 'cache-control', 'public, max-age=3600')
  return send(exchange, 200, 'User-agent: *\nAllow: /\n')
}

/** There is no icon, and browsers need not ask again soon. */
export function sendNoIcon(exchange: Exchange): undefined {
  addHeader(exchange, 'cache-control', 'public, max-age=86400')
  return send(exchange, 204)
}
