/** The session cookie. */
import { readCookie, setCookie } from '../http/cookies.ts'
import type { Exchange } from '../http/exchange.ts'
import { sessionLifetimeMs } from '../sessions/store.ts'

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
