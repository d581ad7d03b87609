import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { RateLimits } from '../api/rate-limit.ts'
import type { ErrorCode } from '../errors.ts'
import type { Caller } from '../keys/keyring.ts'
import { type Fields, noFields } from './form-encoding.ts'
import type { Proxies } from './proxies.ts'
import { requestIdOf } from './request-id.ts'
import type { RequestLog } from './request-log.ts'
import type { Match, Route } from './router.ts'

/** What every exchange of a server has to do with. */
export interface Surroundings {
  readonly log: RequestLog
  readonly rateLimits: RateLimits
  readonly proxies: Proxies
}

/** One request, and the answer to it. */
export class Exchange {
  readonly id: string
  /** On the monotonic clock. */
  readonly startedAt = performance.now()
  readonly method: string
  readonly headers: IncomingHttpHeaders
  /** What the path has in the places that the route's template names. */
  readonly params: Match['params']
  readonly query: Match['query']
  readonly route: Route
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly surroundings: Surroundings
  /** The header fields of the answer, names and values in turn. */
  readonly headerFields: string[]
  /** Whoever the request acts for; null until it is authenticated. */
  caller: Caller | null = null
  /** Of the request's body; none until it has been read, or when it has none. */
  fields: Fields = noFields
  /** What the listener adds to the log line. */
  readonly logged: Record<string, string | number> = {}
  /** The code of the failure that was answered; null when there was none. */
  failure: ErrorCode | null = null

  constructor(surroundings: Surroundings, request: IncomingMessage, response: ServerResponse, match: Match) {
    this.id = requestIdOf(request)
    this.method = request.method as string
    this.headers = request.headers
    this.params = match.params
    this.query = match.query
    this.route = match.route
    this.request = request
    this.response = response
    this.surroundings = surroundings
    this.headerFields = ['x-request-id', this.id, 'x-content-type-options', 'nosniff']
  }

  /** The request's target, in origin form. */
  get target(): string {
    return this.request.url as string
  }

  /** The host that the client asked, through the proxies that are trusted; empty when it did not say. */
  get host(): string {
    return this.surroundings.proxies.hostOf(this.request)
  }

  /** By which the client asked: `http` or `https`, in any case, once the request has passed the gate. */
  get protocol(): string {
    return this.surroundings.proxies.protocolOf(this.request)
  }

  get clientAddress(): string {
    return this.surroundings.proxies.addressOf(this.request)
  }
}
