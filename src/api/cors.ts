import type { Exchange } from '../http/exchange.ts'
import { addHeader } from '../http/response.ts'

/** The origins whose pages may use the API: any (`*`), or those that are listed. None: an empty list. */
export type AllowedOrigins = '*' | readonly string[]

/** Response headers that a page may read beside those that every page may (Fetch Standard, CORS-safelisted). */
const exposed = [
  ...['Allow', 'ETag', 'Idempotency-Replayed', 'Link', 'Location', 'RateLimit', 'RateLimit-Policy', 'Retry-After'],
  ...['WWW-Authenticate', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'X-Request-Id'],
].join(', ')

const requestHeaders =
  'Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, X-Request-Id, traceparent, tracestate'

/** Time for which a browser may remember the answer to a preflight. Seconds; browsers cap it at two hours or less. */
const maxAge = 7_200

/**
 * Cross-origin requests (Fetch Standard §3.3): says which pages may read the answers of the API. Never with credentials:
 * a key is sent by the page itself.
 */
export class Cors {
  readonly #allowed: AllowedOrigins

  constructor(allowed: AllowedOrigins) {
    this.#allowed = allowed
  }

  /** Adds what every answer needs. */
  announce(exchange: Exchange): void {
    const { origin } = exchange.headers
    if (this.#allowed !== '*' && this.#allowed.length > 0) addHeader(exchange, 'vary', 'Origin')
    if (origin === undefined || !this.#allows(origin)) return
    addHeader(exchange, 'access-control-allow-origin', this.#allowed === '*' ? '*' : origin)
    addHeader(exchange, 'access-control-expose-headers', exposed)
  }

  /** Adds what the answer to a preflight needs: the methods of the path, and the headers that the API reads. */
  announcePreflight(exchange: Exchange, methods: readonly string[]): void {
    const { origin, 'access-control-request-method': asked } = exchange.headers
    if (asked === undefined || origin === undefined || !this.#allows(origin)) return
    addHeader(exchange, 'access-control-allow-methods', methods.join(', '))
    addHeader(exchange, 'access-control-allow-headers', requestHeaders)
    addHeader(exchange, 'access-control-max-age', String(maxAge))
  }

  #allows(origin: string): boolean {
    return this.#allowed === '*' || this.#allowed.includes(origin)
  }
}
