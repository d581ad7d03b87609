import { addHeader } from '../http/response.ts'
/**
 * Cookies (RFC 6265): what a request brings, and what an answer sets.
 */

import type { Exchange } from '../http/exchange.ts'
import { sessionLifetimeMs } from '../sessions/store.ts'
import type { Scheme } from './frame.ts'

/**
 * The value of a cookie; undefined if the request has none of this name. Of several, the first. Pairs are told apart as
 * browsers write them: to trim more than a space would take a cookie of another name for this one, and browsers hold the
 * prefix `__Host-` by the name alone.
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
  /** Seconds; 0 takes the cookie away. */
  readonly maxAge: number
}

/** Sets a cookie that no script can read and other sites cannot make a browser send, but for following a link. */
export function setCookie(exchange: Exchange, name: string, value: string, { isSecure, maxAge }: CookieOptions): void {
  const secure = isSecure ? '; Secure' : ''
  addHeader(exchange, 'set-cookie', `${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAge}${secure}`)
}

/** With the prefix, a browser takes the cookie from this host alone, and over https (RFC 6265bis §4.1.3.2). */
function sessionCookieName(isSecure: boolean): string {
  return isSecure ? '__Host-waymark' : 'waymark'
}

/** The secret of the session that the request belongs to, if it names one. */
export function readSessionCookie(exchange: Exchange, isSecure: boolean): string | undefined {
  return readCookie(exchange, sessionCookieName(isSecure))
}

/** Gives the browser the secret of its session. */
export function setSessionCookie(exchange: Exchange, isSecure: boolean, secret: string): void {
  setCookie(exchange, sessionCookieName(isSecure), secret, { isSecure, maxAge: sessionLifetimeMs / 1_000 })
}

/** Takes it away. */
export function clearSessionCookie(exchange: Exchange, isSecure: boolean): void {
  setCookie(exchange, sessionCookieName(isSecure), '', { isSecure, maxAge: 0 })
}

const schemes: readonly Scheme[] = ['system', 'light', 'dark']

const cookie = 'waymark_scheme'
/** Seconds: a year. */
const maxAge = 31_536_000

/** The scheme that this browser has chosen. */
export function readScheme(exchange: Exchange): Scheme {
  return schemes.find((scheme) => scheme === readCookie(exchange, cookie)) ?? 'system'
}

/** Keeps the choice; anything else than a scheme stands for the system's. */
export function storeScheme(exchange: Exchange, chosen: unknown, isSecure: boolean): void {
  const scheme = schemes.find((each) => each === chosen) ?? 'system'
  setCookie(exchange, cookie, scheme, { isSecure, maxAge })
}
