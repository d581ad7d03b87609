import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { Failure } from '../errors.ts'
import type { Caller, Keyring } from '../keys/keyring.ts'
import { allows, type NeededScope } from '../keys/scope.ts'
import { addHeader } from './answer.ts'
import type { RateLimits } from './rate-limit.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whoever the request acts for; null until it is authenticated. */
    caller: Caller | null
  }
}

/**
 * Guards every route that `app` declares from now on: key 401, then rate 429, then scope 403. What is refused never
 * reaches a handler. A route that is no operation, and so names no scope, cannot be declared.
 */
export function requireKey(app: FastifyInstance, keyring: Keyring, rateLimits: RateLimits): void {
  app.addHook('onRoute', (route) => {
    const scope = route.config?.operation?.scope
    if (scope === undefined) throw new Error(`${route.url} declares no operation`)
    route.onRequest = guard(scope, keyring, rateLimits)
  })
}

/** The account of an authenticated request: what every store function takes. */
export function accountOf(request: FastifyRequest): number {
  return callerOf(request).account
}

/** Whoever an authenticated request acts for. */
export function callerOf({ caller, url }: FastifyRequest): Caller {
  if (caller === null) throw new Error(`${url} is not behind requireKey`)
  return caller
}

/** Answers without a promise where nothing has to be waited for: most requests bring a key that is remembered. */
function guard(scope: NeededScope, keyring: Keyring, rateLimits: RateLimits): onRequestHookHandler {
  return (request, reply, done) => {
    addHeader(reply, 'cache-control', 'private, no-cache')
    const secret = bearerToken(request.headers.authorization)
    const caller = typeof secret === 'string' ? keyring.identify(secret) : secret
    const admit = (known: Caller | Failure) =>
      done(admitted(request, limited(request, reply, known, rateLimits), scope))
    if (caller instanceof Promise) caller.then(admit, done)
    else admit(caller)
  }
}

/** The caller, or the failure that the request leaves with once it has been counted. */
function limited(
  request: FastifyRequest,
  reply: FastifyReply,
  caller: Caller | Failure,
  rateLimits: RateLimits,
): Caller | Failure {
  if (!rateLimits.enabled) return caller
  if (caller instanceof Failure) return rateLimits.refuse(request, reply) ?? caller
  request.caller = caller
  return rateLimits.spend(caller, reply) ?? caller
}

function admitted(request: FastifyRequest, caller: Caller | Failure, scope: NeededScope): Failure | undefined {
  if (caller instanceof Failure) return caller
  request.caller = caller
  if (allows(caller.scopes, scope)) return undefined
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
