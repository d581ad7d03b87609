/**
 * Cookies (RFC 6265): what a request brings, and what an answer sets.
 */
import { addHeader } from '../http/answer.ts'
import type { Exchange } from '../http/exchange.ts'

/**
 * The value of a cookie; undefined if the request has none of this name. Of several, the first. Pairs are told apart as
 * browsers write them: to trim more than a space would take a cookie of another name for this one, and browsers hold the
 * prefix `__Host-` by the name alone.
 */
export function cookieOf({ headers }: Pick<Exchange, 'headers'>, name: string): string | undefined {
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
