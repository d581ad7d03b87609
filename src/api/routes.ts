import { Failure } from '../errors.ts'
import type { Exchange, Outcome } from '../http/exchange.ts'
import { type Fields, noFields } from '../http/form-encoding.ts'
import { addHeader } from '../http/response.ts'
import type { Router } from '../http/router.ts'
import type { KeptAnswers } from '../idempotency/kept-answers.ts'
import type { Caller, Keyring } from '../keys/keyring.ts'
import { allows } from '../keys/scope.ts'
import { readBody } from './body.ts'
import { apiPrefix, type Operation } from './operations.ts'
import type { RateLimits } from './rate-limit.ts'

/** A request that has been let in: on whose behalf it acts, and the fields of its body. */
export interface Admitted {
  readonly caller: Caller
  readonly fields: Fields
}

/** Answers a request that has been let in, or returns the failure that answers it. */
export type OperationHandler = (exchange: Exchange, admitted: Admitted) => Promise<Outcome>

export interface ApiParts {
  readonly router: Router
  readonly keyring: Keyring
  readonly rateLimits: RateLimits
  /** The answers to requests with an Idempotency-Key. */
  readonly kept: KeptAnswers
  readonly address: PublicAddress
}

/** The API as a resource sees it: all that it is given to add its operations, so that none lacks a key and a scope. */
export class Api {
  readonly kept: KeptAnswers
  readonly #parts: ApiParts

  constructor(parts: ApiParts) {
    this.kept = parts.kept
    this.#parts = parts
  }

  /** Has `handler` answer the operations. */
  add(operations: Operation | readonly Operation[], handler: OperationHandler): void {
    for (const operation of [operations].flat()) {
      this.#parts.router.add(operation.method, apiPrefix + operation.path, (exchange) =>
        this.#serve(exchange, operation, handler),
      )
    }
  }

  /** The absolute URL of an operation without an id. */
  urlOf(exchange: Exchange, { path }: Operation): string {
    return this.#parts.address(exchange) + apiPrefix + path
  }

  /** Identify, rate, scope, body, handler: the order in which a request is judged. */
  async #serve(exchange: Exchange, { scope, body }: Operation, handler: OperationHandler): Promise<Outcome> {
    const { keyring, rateLimits } = this.#parts
    addHeader(exchange, 'cache-control', 'private, no-cache')
    const caller = await identify(exchange.headers.authorization, keyring)
    if (caller instanceof Failure) return rateLimits.refuse(exchange) ?? caller
    exchange.logFields = { account: caller.account, key: caller.key }
    const surplus = rateLimits.spend(caller, exchange)
    if (surplus !== undefined) return surplus
    if (scope !== null && !allows(caller.scopes, scope)) return insufficientScope(scope)
    const fields = body === undefined ? noFields : await readBody(exchange)
    if (fields instanceof Failure) return fields
    return handler(exchange, { caller, fields })
  }
}

function insufficientScope(scope: string): Failure {
  return new Failure('insufficient_scope', `The API key lacks the scope ${scope}.`, { scope })
}

/**
 * Identifies the key in an Authorization header. Returns a promise only if the database must be asked: most requests bring
 * a key that is remembered.
 */
export function identify(
  authorization: string | undefined,
  keyring: Keyring,
): Caller | Failure | Promise<Caller | Failure> {
  const secret = bearerToken(authorization)
  return typeof secret === 'string' ? keyring.identify(secret) : secret
}

/** RFC 6750 §2.1; the scheme is matched in any case (RFC 9110 §11.1). */
function bearerToken(authorization: string | undefined): string | Failure {
  if (authorization === undefined) return missingKey
  if (authorization.startsWith('Bearer wm_')) return authorization.slice(7)
  const token = /^bearer +(\S+) *$/i.exec(authorization)
  if (token?.[1] !== undefined) return token[1]
  return /^bearer\b/i.test(authorization) ? noKey : missingKey
}

export const missingKey = new Failure(
  'missing_api_key',
  'Send your API key in the header "Authorization: Bearer wm_…".',
)
const noKey = new Failure('invalid_api_key', 'The Authorization header holds no API key.')

/** The public address of the API for links in answers, without a slash at its end. */
export type PublicAddress = (exchange: Exchange) => string

/** `baseUrl` where the operator set one, else what the request was sent to. */
export function publicAddress(baseUrl: string | null): PublicAddress {
  if (baseUrl !== null) return () => baseUrl
  return (exchange) => `${exchange.protocol.toLowerCase()}://${hostOf(exchange)}`
}

/** The Host header was checked on arrival; HTTP/1.0 may have none. */
function hostOf({ host, request }: Exchange): string {
  if (host !== '') return host
  const { localAddress = 'localhost', localPort } = request.socket
  return `${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`
}
