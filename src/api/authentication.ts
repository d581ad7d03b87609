import { Failure } from '../errors.ts'
import { addHeader } from '../http/answer.ts'
import type { Exchange } from '../http/exchange.ts'
import { fail } from '../http/failing.ts'
import type { Handler } from '../http/router.ts'
import type { Caller, Keyring } from '../keys/keyring.ts'
import { allows, type NeededScope } from '../keys/scope.ts'

/**
 * Guards `handler`: key 401, then rate 429, then scope 403. What is refused never reaches it. Without a promise where
 * nothing has to be waited for: most requests bring a key that is remembered.
 */
export function guarded(scope: NeededScope, keyring: Keyring, handler: Handler): Handler {
  const admit = (exchange: Exchange, known: Caller | Failure) => {
    const refusal = refusalOf(exchange, known, scope)
    return refusal === undefined ? handler(exchange) : fail(exchange, refusal)
  }
  return (exchange) => {
    addHeader(exchange, 'cache-control', 'private, no-cache')
    const secret = bearerToken(exchange.headers.authorization)
    const caller = typeof secret === 'string' ? keyring.identify(secret) : secret
    return caller instanceof Promise ? caller.then((known) => admit(exchange, known)) : admit(exchange, caller)
  }
}

/** The account of an authenticated request: what every store function takes. */
export function accountOf(exchange: Exchange): number {
  return callerOf(exchange).account
}

/** Whoever an authenticated request acts for. */
export function callerOf({ caller, route }: Exchange): Caller {
  if (caller === null) throw new Error(`${route.template} is not guarded`)
  return caller
}

/** The failure that the request leaves with, once it has been counted; undefined when it may do what it asks for. */
function refusalOf(exchange: Exchange, caller: Caller | Failure, scope: NeededScope): Failure | undefined {
  const { rateLimits } = exchange.surroundings
  if (caller instanceof Failure) return rateLimits.refuse(exchange) ?? caller
  exchange.caller = caller
  exchange.logged.account = caller.account
  exchange.logged.key = caller.key
  const surplus = rateLimits.spend(caller, exchange)
  if (surplus !== undefined || allows(caller.scopes, scope)) return surplus
  return new Failure('insufficient_scope', `The API key lacks the scope ${scope}.`, { scope })
}

/** RFC 6750 §2.1; the scheme is matched in any case (RFC 9110 §11.1). */
function bearerToken(authorization: string | undefined): string | Failure {
  if (authorization === undefined) return missingKey
  if (authorization.startsWith('Bearer wm_')) return authorization.slice(7)
  const token = /^bearer +(\S+) *$/i.exec(authorization)
  if (token?.[1] !== undefined) return token[1]
  return /^bearer\b/i.test(authorization) ? noKey : missingKey
}

const missingKey = new Failure('missing_api_key', 'Send your API key in the header "Authorization: Bearer wm_…".')
const noKey = new Failure('invalid_api_key', 'The Authorization header holds no API key.')
