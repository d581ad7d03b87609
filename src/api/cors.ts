import type { Exchange } from '../http/exchange.ts'
import { addHeader } from '../http/response.ts'

/** The origins whose pages may use the API. `*` allows all, an empty list none. */
export type AllowedOrigins = '*' | readonly string[]

/** Response headers that pages may read, without the headers that the Fetch Standard always allows. */
const exposed = [
  'Allow',
  'ETag',
  'Idempotency-Replayed',
  'Link',
  'Location',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'WWW-Authenticate',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Request-Id',
].join(', ')

const requestHeaders =
  'Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, X-Request-Id, traceparent, tracestate'

/** The time for which browsers may cache a preflight response, which they cap at two hours or less. Seconds. */
const maxAge = 7_200

/** Allows pages of other origins to read API responses (Fetch Standard §3.3). Credentials are not allowed. */
export class Cors {
  readonly #allowed: AllowedOrigins

  constructor(allowed: AllowedOrigins) {
    this.#allowed = allowed
  }

  /** Adds the headers of every response. */
  addHeaders(exchange: Exchange): void {
    const { origin } = exchange.headers
    if (this.#allowed !== '*' && this.#allowed.length > 0) addHeader(exchange, 'vary', 'Origin')
    if (origin === undefined || !this.#allows(origin)) return
    addHeader(exchange, 'access-control-allow-origin', this.#allowed === '*' ? '*' : origin)
    addHeader(exchange, 'access-control-expose-headers', exposed)
  }

  /** Adds the headers of a preflight response. `methods` are the methods of the path. */
  addPreflightHeaders(exchange: Exchange, methods: readonly string[]): void {
    const { origin, 'access-control-request-method': requested } = exchange.headers
    if (requested === undefined || origin === undefined || !this.#allows(origin)) return
    addHeader(exchange, 'access-control-allow-methods', methods.join(', '))
    addHeader(exchange, 'access-control-allow-headers', requestHeaders)
    addHeader(exchange, 'access-control-max-age', String(maxAge))
  }

  #allows(origin: string): boolean {
    return this.#allowed === '*' || this.#allowed.includes(origin)
  }
}
