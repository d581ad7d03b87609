/** Cookies (RFC 6265). */
import type { Exchange } from './exchange.ts'
import { addHeader } from './response.ts'

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

/**
 * A cookie that other hosts can't set: over HTTPS, its name starts with `__Host-` (RFC 6265bis §4.1.3.2). `isSecure` is
 * whether browsers reach the server over HTTPS.
 */
export class HostCookie {
  readonly #name: string
  readonly #maxAge: number

  /** `maxAge` is in seconds. */
  constructor(name: string, maxAge: number) {
    this.#name = name
    this.#maxAge = maxAge
  }

  read(exchange: Exchange, isSecure: boolean): string | undefined {
    return readCookie(exchange, this.#nameFor(isSecure))
  }

  set(exchange: Exchange, isSecure: boolean, value: string): void {
    setCookie(exchange, this.#nameFor(isSecure), value, { isSecure, maxAge: this.#maxAge })
  }

  clear(exchange: Exchange, isSecure: boolean): void {
    setCookie(exchange, this.#nameFor(isSecure), '', { isSecure, maxAge: 0 })
  }

  #nameFor(isSecure: boolean): string {
    return isSecure ? `__Host-${this.#name}` : this.#name
  }
}
