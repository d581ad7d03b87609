import { Failure } from '../errors.ts'
import type { Exchange } from '../http/exchange.ts'
import { formatProblem } from '../http/failures.ts'
import type { ListenerOptions } from '../http/listener.ts'
import { addHeader, send } from '../http/response.ts'
import type { Fallback } from '../http/router.ts'
import type { RateLimits } from './rate-limit.ts'

/** Returns the listener options of the API: problem objects, and headers for every response under `/api`. */
export function apiResponses(
  rateLimits: RateLimits,
  cors: Cors,
): Pick<ListenerOptions, 'formatFailure' | 'onArrival' | 'onFailure'> {
  return {
    formatFailure: formatProblem,
    onArrival: (exchange) => {
      if (isUnderApi(exchange)) cors.addHeaders(exchange)
    },
    onFailure: (exchange) => {
      if (isUnderApi(exchange)) rateLimits.addNetworkHeaders(exchange)
    },
  }
}

/** Responds to requests without a route, before a key is needed: 404, 405, or 204 to OPTIONS. */
export function apiFallback(rateLimits: RateLimits, cors: Cors): Fallback {
  return (exchange, methods) => {
    const { method, target } = exchange
    const advice = /^\/[^?#]*\/(?:[?#]|$)/.test(target) ? ' Leave out the slash at the end of the path.' : ''
    if (methods.length === 0) {
      return new Failure('route_not_found', `No operation has this path. /docs lists all operations.${advice}`)
    }
    const allow = [...methods, 'OPTIONS']
    if (method !== 'OPTIONS') return methodNotAllowed(method, allow, advice)
    if (isUnderApi(exchange)) {
      rateLimits.addNetworkHeaders(exchange)
      cors.addPreflightHeaders(exchange, methods)
    }
    addHeader(exchange, 'allow', allow.join(', '))
    return send(exchange, 204)
  }
}

/** Returns the failure for an unsupported method. `advice` starts with a space. */
export function methodNotAllowed(method: string, allow: readonly string[], advice = ''): Failure {
  const detail = `This path does not support ${method}. It supports ${allow.join(', ')}.${advice}`
  return new Failure('method_not_allowed', detail, { allow })
}

/** True for paths of an unknown version too. */
function isUnderApi({ route, target }: Exchange): boolean {
  return (route.template ?? target).startsWith('/api/')
}

/** The origins whose pages may use the API. `*` allows all, an empty list none. */
type AllowedOrigins = '*' | readonly string[]

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
