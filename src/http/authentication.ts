import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Failure } from '../errors.ts'
import type { Caller, Keyring } from '../keys/keyring.ts'
import { allows, type NeededScope } from '../keys/scope.ts'
import type { RateLimits } from './rate-limit.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Whoever the request acts for; null until it is authenticated. */
    caller: Caller | null
  }
}

/**
 * Guards every route of `app`: key 401, then rate 429, then scope 403. What is refused never reaches a handler,
 * because the guard throws.
 */
export function requireKey(app: FastifyInstance, keyring: Keyring, rateLimits: RateLimits): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'private, no-cache')
    request.caller = await authenticated(request, keyring).catch((error) => rateLimits.refuse(request, reply, error))
    if (rateLimits.enabled) await rateLimits.spend(request.caller, reply)
    const { operation } = request.routeOptions.config
    if (operation === undefined) throw new Error(`${request.url} declares no operation`)
    if (!allows(request.caller.scopes, operation.scope)) throw lacking(operation.scope)
  })
}

/** The account of an authenticated request: what every store function takes. */
export function accountOf(request: FastifyRequest): number {
  if (request.caller === null) throw new Error(`${request.routeOptions.url} is not behind requireKey`)
  return request.caller.account
}

async function authenticated(request: FastifyRequest, keyring: Keyring): Promise<Caller> {
  const secret = bearerToken(request.headers.authorization)
  return keyring.recall(secret) ?? (await keyring.identify(secret))
}

/** RFC 6750 §2.1; the scheme is matched in any case (RFC 9110 §11.1). */
function bearerToken(authorization: string | undefined): string {
  if (authorization === undefined) throw new Failure('missing_api_key', missing)
  if (authorization.startsWith('Bearer wm_')) return authorization.slice(7)
  const token = /^bearer +(\S+) *$/i.exec(authorization)
  if (token?.[1] !== undefined) return token[1]
  if (/^bearer\b/i.test(authorization)) throw new Failure('invalid_api_key', 'The Authorization header holds no API key.')
  throw new Failure('missing_api_key', missing)
}

const missing = 'Send your API key in the header "Authorization: Bearer wm_…".'

function lacking(scope: NeededScope): Failure {
  return new Failure('insufficient_scope', `The API key lacks the scope ${scope}.`, { scope })
}
