import { Failure } from '../errors.ts'
import type { Exchange } from '../http/exchange.ts'
import type { ListenerOptions } from '../http/listener.ts'
import { problemOf } from '../http/problem.ts'
import { addHeader, send } from '../http/response.ts'
import type { Fallback } from '../http/router.ts'
import type { Cors } from './cors.ts'
import type { RateLimits } from './rate-limit.ts'

/** Returns the listener options of the API: problem objects, and headers for every response under `/api`. */
export function apiResponses(
  rateLimits: RateLimits,
  cors: Cors,
): Pick<ListenerOptions, 'formatFailure' | 'onArrival' | 'onFailure'> {
  return {
    formatFailure: problemOf,
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
