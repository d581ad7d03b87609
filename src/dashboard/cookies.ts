import { addHeader } from '../http/response.ts'
/** Reads and sets cookies (RFC 6265): the session, the color scheme, and others. */

import type { Exchange } from '../http/exchange.ts'
import { sessionLifetimeMs } from '../sessions/store.ts'
import type { Scheme } from './frame.ts'

/**
 * Returns the value of a cookie; undefined if there is none. Uses the first of several. At most one space is trimmed,
 * as browsers write cookies: more would accept a name that browsers do not protect with the prefix `__Host-`.
 */
export function readCookie({ headers }: Pick<Exchange, 'headers'>, name: string): string | undefined {
  for (const pair of (headers.cookie ?? '').split(';')) {
    const from = pair.startsWith(' ') ? 1 : 0
    if (pair.startsWith(`${name}=`, from)) return pair.slice(from + name.length + 1)
  }
  return undefined
}

interface CookieOptions {
  readonly isSecure: boolean
  /** Seconds; 0 deletes the cookie. */
  readonly maxAge: number
}

/** Sets a cookie that scripts cannot read and other sites cannot send, except by linking to a page. */
export function setCookie(exchange: Exchange, name: string, value: string, { isSecure, maxAge }: CookieOptions): void {
  const secure = isSecure ? '; Secure' : ''
  addHeader(exchange, 'set-cookie', `${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAge}${secure}`)
}

/** With the prefix `__Host-`, browsers accept the cookie only from this host and over HTTPS (RFC 6265bis §4.1.3.2). */
function sessionCookieName(isSecure: boolean): string {
  return isSecure ? '__Host-waymark' : 'waymark'
}

/** Returns the session secret from the request. */
export function readSessionCookie(exchange: Exchange, isSecure: boolean): string | undefined {
  return readCookie(exchange, sessionCookieName(isSecure))
}

/** Stores the session secret in the browser. */
export function setSessionCookie(exchange: Exchange, isSecure: boolean, secret: string): void {
  setCookie(exchange, sessionCookieName(isSecure), secret, { isSecure, maxAge: sessionLifetimeMs / 1_000 })
}

/** Deletes the session secret from the browser. */
export function clearSessionCookie(exchange: Exchange, isSecure: boolean): void {
  setCookie(exchange, sessionCookieName(isSecure), '', { isSecure, maxAge: 0 })
}

const schemes: readonly Scheme[] = ['system', 'light', 'dark']

const cookie = 'waymark_scheme'
/** One year, in seconds. */
const maxAge = 31_536_000

/** Returns the color scheme of this browser. */
export function readScheme(exchange: Exchange): Scheme {
  return schemes.find((scheme) => scheme === readCookie(exchange, cookie)) ?? 'system'
}

/** Stores a color scheme in the browser. Unknown values mean `system`. */
export function storeScheme(exchange: Exchange, chosen: unknown, isSecure: boolean): void {
  const scheme = schemes.find((each) => each === chosen) ?? 'system'
  setCookie(exchange, cookie, scheme, { isSecure, maxAge })
}
