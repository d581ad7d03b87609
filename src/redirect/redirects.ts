/** Redirect responses. The redirect of a link is built once and sent many times. */
import type { Exchange } from '../http/exchange.ts'
import { escaped } from '../http/html.ts'
import { sendReady } from '../http/response.ts'
import { isLinkable, isWebUrl } from '../names/web-url.ts'
import { readHostName } from './visited-url.ts'

/** The headers of responses that caches and search engines must not store. */
export const noStoreHeaders = {
  'cache-control': 'no-store',
  'x-robots-tag': 'noindex',
  'referrer-policy': 'strict-origin-when-cross-origin',
} as const

/** Longer heads fail in many clients and proxies. Bytes. */
export const maxLocationLength = 16 * 1_024

/** A redirect response without the headers that every response has. */
interface Redirect {
  readonly status: number
  readonly location: string
  /** Names and values alternate. */
  readonly headers: readonly string[]
  readonly body: string
}

/** The redirect to a stored URL, with the parts that show whether this instance serves it. */
export interface PreparedRedirect extends Redirect {
  /** The host name, as domains are stored; null if the host is not a host name, or the scheme is not http or https. */
  readonly name: string | null
  /** Empty for the default port of the scheme. */
  readonly port: string
  readonly pathname: string
  /** With its question mark; empty if there is none. */
  readonly search: string
}

/** Builds the redirect to a stored URL, which the URL Standard serializes as absolute and in ASCII. */
export function prepareRedirect(url: string, status: number): PreparedRedirect {
  const { href, host, port, pathname, search } = new URL(url)
  return { ...redirectTo(href, status), name: isWebUrl(url) ? readHostName(host) : null, port, pathname, search }
}

/** Builds the redirect to a location, which is not changed. */
export function redirectTo(location: string, status: number): Redirect {
  const body = redirectPage(location)
  const isPermanent = status === 301 || status === 308
  const headers = {
    location,
    ...noStoreHeaders,
    ...(isPermanent && { 'cache-control': 'private, max-age=60' }),
    'content-type': 'text/html; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
  }
  return { status, location, headers: Object.entries(headers).flat(), body }
}

/** Returns the body of a redirect, for clients that do not follow it. */
function redirectPage(location: string): string {
  const text = escaped(location)
  const link = isLinkable(location) ? `<a href="${text}">${text}</a>` : text
  return `<!doctype html><meta charset="utf-8"><title>Redirect</title>${link}\n`
}

/** Returns the redirect to a URL that a domain has for visits without a link, or a link for visits after its end. */
export function fallbackRedirect(url: string): PreparedRedirect {
  return prepareRedirect(url, 302)
}

export function sendRedirect(exchange: Exchange, { status, headers, body }: Redirect): undefined {
  exchange.headerFields.push(...headers)
  return sendReady(exchange, status, body)
}

/**
 * Appends a visitor's query, which contains no `#`, to a location before its fragment. It is not encoded again. Returns the
 * location unchanged if the result would be longer than `maxLocationLength`.
 */
export function withQuery(location: string, query: string): string {
  if (query === '') return location
  const [base = ''] = location.split('#', 1)
  const separator = !base.includes('?') ? '?' : /[?&]$/.test(base) ? '' : '&'
  const result = base + separator + query + location.slice(base.length)
  return result.length > maxLocationLength ? location : result
}
