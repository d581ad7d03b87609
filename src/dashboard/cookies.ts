/** Cookies (RFC 6265): the session, the color scheme, and others. */
import type { Exchange } from '../http/exchange.ts'
import { addHeader } from '../http/response.ts'
import { sessionLifetimeMs } from '../sessions/store.ts'
import { type Scheme, schemes } from './frame.ts'

/** Trims at most one space, because browsers do not protect a name with white space by the prefix `__Host-`. */
export function readCookie({ headers }: Pick<Exchange, 'headers'>, name: string): string | undefined {
  for (const pair of (headers.cookie ?? '').split(';')) {
    const from = pair.startsWith(' ') ? 1 : 0
    if (pair.startsWith(`${name}=`, from)) return pair.slice(from + name.length + 1)
  }
  return undefined
}

/** Sets a cookie for this host, hidden from scripts. `maxAge` is in seconds; 0 deletes the cookie. */
export function setCookie(
  exchange: Exchange,
  name: string,
  value: string,
  { isSecure, maxAge }: { readonly isSecure: boolean; readonly maxAge: number },
): void {
  const secure = isSecure ? '; Secure' : ''
  addHeader(exchange, 'set-cookie', `${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAge}${secure}`)
}

/** With the prefix `__Host-`, browsers accept the cookie only from this host and over HTTPS (RFC 6265bis §4.1.3.2). */
function sessionCookieName(isSecure: boolean): string {
  return isSecure ? '__Host-waymark' : 'waymark'
}

export function readSessionCookie(exchange: Exchange, isSecure: boolean): string | undefined {
  return readCookie(exchange, sessionCookieName(isSecure))
}

export function setSessionCookie(exchange: Exchange, isSecure: boolean, secret: string): void {
  setCookie(exchange, sessionCookieName(isSecure), secret, { isSecure, maxAge: sessionLifetimeMs / 1_000 })
}

export function clearSessionCookie(exchange: Exchange, isSecure: boolean): void {
  setCookie(exchange, sessionCookieName(isSecure), '', { isSecure, maxAge: 0 })
}

const schemeCookie = 'waymark_scheme'
const yearInSeconds = 31_536_000

export function readScheme(exchange: Exchange): Scheme {
  return schemeNamed(readCookie(exchange, schemeCookie))
}

/** Unknown values mean `system`. */
export function storeScheme(exchange: Exchange, chosen: unknown, isSecure: boolean): void {
  setCookie(exchange, schemeCookie, schemeNamed(chosen), { isSecure, maxAge: yearInSeconds })
}

function schemeNamed(name: unknown): Scheme {
  return schemes.find((scheme) => scheme === name) ?? 'system'
}
