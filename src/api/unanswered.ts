import { Failure } from '../errors.ts'
import { addHeader, send } from '../http/answer.ts'
import type { Exchange } from '../http/exchange.ts'
import type { Method } from '../http/router.ts'

/**
 * Answers what no route does: 204 to OPTIONS and 405 otherwise on a path that answers some `methods`, both with `Allow`,
 * and 404 elsewhere; all before a key is asked for or a body is read.
 */
export function answerUnanswered(exchange: Exchange, methods: readonly Method[]): void {
  const { method, surroundings } = exchange
  const advice = endsWithSlash(exchange.target) ? ' Leave out the slash at the end of the path.' : ''
  if (methods.length === 0) {
    throw new Failure('route_not_found', `No operation has this path. The operations are listed at /docs.${advice}`)
  }
  const allow = [...methods, 'OPTIONS']
  if (method !== 'OPTIONS') {
    const detail = `${method} is not answered here: ${allow.join(', ')} are.${advice}`
    throw new Failure('method_not_allowed', detail, { allow })
  }
  surroundings.rateLimits.announceAddress(exchange)
  addHeader(exchange, 'allow', allow.join(', '))
  send(exchange, 204)
}

function endsWithSlash(target: string): boolean {
  return /^\/[^?#]*\/(?:[?#]|$)/.test(target)
}
