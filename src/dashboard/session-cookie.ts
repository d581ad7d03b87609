import type { Exchange } from '../http/exchange.ts'
import { sessionLifetimeMs } from '../sessions/store.ts'
import { cookieOf, setCookie } from './cookies.ts'

/** With the prefix, a browser takes the cookie from this host alone, and over https (RFC 6265bis §4.1.3.2). */
function nameOf(isSecure: boolean): string {
  return isSecure ? '__Host-waymark' : 'waymark'
}

/** The secret of the session that the request belongs to, if it names one. */
export function sessionSecretOf(exchange: Exchange, isSecure: boolean): string | undefined {
  return cookieOf(exchange, nameOf(isSecure))
}

/** Gives the browser the secret of its session. */
export function beginSession(exchange: Exchange, isSecure: boolean, secret: string): void {
  setCookie(exchange, nameOf(isSecure), secret, { isSecure, maxAge: sessionLifetimeMs / 1_000 })
}

/** Takes it away. */
export function endSession(exchange: Exchange, isSecure: boolean): void {
  setCookie(exchange, nameOf(isSecure), '', { isSecure, maxAge: 0 })
}
