import type { Exchange } from '../http/exchange.ts'
import { cookieOf, setCookie } from './cookies.ts'
import type { Scheme } from './frame.ts'

const schemes: readonly Scheme[] = ['system', 'light', 'dark']

const cookie = 'waymark_scheme'
/** Seconds: a year. */
const maxAge = 31_536_000

/** The scheme that this browser has chosen. */
export function schemeOf(exchange: Exchange): Scheme {
  return schemes.find((scheme) => scheme === cookieOf(exchange, cookie)) ?? 'system'
}

/** Keeps the choice; anything else than a scheme stands for the system's. */
export function keepScheme(exchange: Exchange, chosen: unknown, isSecure: boolean): void {
  const scheme = schemes.find((each) => each === chosen) ?? 'system'
  setCookie(exchange, cookie, scheme, { isSecure, maxAge })
}
