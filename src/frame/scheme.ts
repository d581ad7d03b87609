/** The color scheme that a browser's user chose. */
import { readCookie, setCookie } from '../http/cookies.ts'
import type { Exchange } from '../http/exchange.ts'

/** The color schemes. `system` follows the browser. */
export const schemes = ['system', 'light', 'dark'] as const

export type Scheme = (typeof schemes)[number]

const cookie = 'waymark_scheme'
const yearInSeconds = 31_536_000

export function readScheme(exchange: Pick<Exchange, 'headers'>): Scheme {
  return schemeNamed(readCookie(exchange, cookie))
}

/** Unknown values mean `system`. */
export function storeScheme(exchange: Exchange, chosen: unknown, isSecure: boolean): void {
  setCookie(exchange, cookie, schemeNamed(chosen), { isSecure, maxAge: yearInSeconds })
}

function schemeNamed(name: unknown): Scheme {
  return schemes.find((scheme) => scheme === name) ?? 'system'
}
