import { Failure } from '../errors.ts'
import type { Exchange } from '../http/exchange.ts'
import type { ListenerOptions } from '../http/listener.ts'
import { problemOf } from '../http/problem.ts'
import { addHeader, send } from '../http/response.ts'
import type { Fallback } from '../http/router.ts'
import type { Cors } from './cors.ts'
import { apiPrefix } from './operations.ts'
import type { RateLimits } from './rate-limit.ts'

/** Returns the listener options of the API: problem objects, and headers for every response under `/api`. */
export function apiResponses(
  rateLimits: RateLimits,
  cors: Cors,
): Pick<ListenerOptions, 'formatFailure' | 'onArrival' | 'onFailure'> {
  return {
    formatFailure: problemOf,
    onArrival: (exchange) => {
      if (isOfApi(exchange)) cors.announce(exchange)
    },
    onFailure: (exchange) => {
      if (isOfApi(exchange)) rateLimits.announceAddress(exchange)
    },
  }
}

/**
 * Answers what no route does: 204 to OPTIONS and 405 to other methods on a path that answers some, both with `Allow`; 404
 * elsewhere. All of that before a key is asked for or a body is read.
 */
export function apiFallback(rateLimits: RateLimits, cors: Cors): Fallback {
  return (exchange, methods) => {
    const { method, target } = exchange
    const advice = /^\/[^?#]*\/(?:[?#]|$)/.test(target) ? ' Leave out the slash at the end of the path.' : ''
    if (methods.length === 0) {
      return new Failure('route_not_found', `No operation has this path. The operations are listed at /docs.${advice}`)
    }
    const allow = [...methods, 'OPTIONS']
    if (method !== 'OPTIONS') {
      const detail = `This path does not support ${method}. It supports ${allow.join(', ')}.${advice}`
      return new Failure('method_not_allowed', detail, { allow })
    }
    if (isOfApi(exchange)) {
      rateLimits.announceAddress(exchange)
      cors.announcePreflight(exchange, methods)
    }
    addHeader(exchange, 'allow', allow.join(', '))
    return send(exchange, 204)
  }
}

/** Every answer under `/api` carries the headers, also that to a version that does not exist. */
function isOfApi({ route, target }: Exchange): boolean {
  return (route.template ?? target).startsWith(apiRoot)
}

const apiRoot = apiPrefix.slice(0, apiPrefix.lastIndexOf('/') + 1)
