/**
 * Cookies (RFC 6265): what a request brings, and what an answer sets.
 */
import { addHeader } from '../http/answer.ts'
import type { Exchange } from '../http/exchange.ts'

/** The value of a cookie; undefined if the request has none of this name. Of several, the first. */
export function cookieOf({ headers }: Pick<Exchange, 'headers'>, name: string): string | undefined {
  for (const pair of (headers.cookie ?? '').split(';')) {
    const equals = pair.indexOf('=')
    if (equals > 0 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim()
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
