import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { ErrorCode, Failure } from '../errors.ts'
import type { ByteBudget } from './byte-budget.ts'
import type { Fields, MalformedForm } from './form-encoding.ts'
import type { Proxies } from './proxies.ts'
import { requestIdOf } from './request-id.ts'
import type { UnreadAnswers } from './unread-answers.ts'

/** Says where each request of a listener goes. */
export interface Finder {
  /** Never throws. `target` is the request target in origin form. */
  find(method: string, target: string): Match
}

/** Answers an exchange, or returns the failure that answers it. The kernel answers what it throws, too. */
export type Handler = (exchange: Exchange) => Outcome | Promise<Outcome>

/** A failure that is still to be answered; undefined once an answer has been sent. */
export type Outcome = Failure | undefined

export interface Route {
  /** The path, with `:name` for each part that varies; null where no route has the path or the method. */
  readonly template: string | null
  readonly handler: Handler
  /** Whether it is served under overload and on connections beyond the limit, as a health check must be. */
  readonly isAlwaysServed?: boolean
  /** Words its failures, where its clients are others than those of the listener. */
  readonly word?: Wording
}

/** Where a request goes, and what its target says. */
export interface Match {
  readonly route: Route
  readonly params: Readonly<Record<string, string | undefined>>
  readonly query: Fields | MalformedForm
}

/** An answer of failure, complete but for what every answer has. */
export interface WordedFailure {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Words a failure for clients. `accept` is the request's Accept header, if one could be read. */
export type Wording = (failure: Failure, requestId: string, accept: string | undefined) => WordedFailure

/** How one listener differs from the others. */
export interface Manners {
  /** For the clients of this listener. */
  readonly word: Wording
  /** Adds the header fields that every answer of this listener has, before the request is looked at. */
  readonly onArrival?: (exchange: Exchange) => void
  /** Adds the header fields that answers of failure have. */
  readonly onFailure?: (exchange: Exchange) => void
}

/** Hears how exchanges end, for the log and the metrics. */
export interface Journal {
  /** A request has arrived; `ended` follows. */
  began(): void
  /** The answer has been sent, or the client has left before it had the whole of it. */
  ended(exchange: Exchange, isAborted: boolean): void
  /** What never became a request has been refused: raw garbage, a timeout, headers without end. */
  refused(requestId: string, status: number, failure: Failure): void
  /** A failure with a cause that the operator can do something about. */
  trouble(requestId: string, failure: Failure): void
  /** An error that no code expected. */
  bug(requestId: string, error: unknown): void
}

/** What a listener lends to each of its exchanges. */
export interface Surroundings extends Manners {
  readonly log: Journal
  readonly proxies: Proxies
  readonly unread: UnreadAnswers
  /** The memory for bodies that have not arrived completely, and for pipelined requests that wait. */
  readonly unfinished: ByteBudget
  /** Whether a request id that the client chose would put a secret into the log. */
  readonly isSecret: (text: string) => boolean
}

const nothing: Readonly<Record<string, string | number>> = Object.freeze({})

/** One request, and the answer to it. */
export class Exchange {
  readonly id: string
  /** On the monotonic clock. */
  readonly startedAt = performance.now()
  readonly method: string
  readonly headers: IncomingHttpHeaders
  /** The parts of the path that the route's template names. */
  readonly params: Match['params']
  readonly query: Match['query']
  readonly route: Route
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly surroundings: Surroundings
  /** The header fields of the answer: names and values in turn. */
  readonly headerFields: string[]
  /** What the listener adds to the log line of the request. */
  logged = nothing
  /** The code of the failure that was answered; null if there was none. */
  failure: ErrorCode | null = null

  constructor(surroundings: Surroundings, request: IncomingMessage, response: ServerResponse, match: Match) {
    this.id = requestIdOf(request, surroundings.isSecret)
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

  /** The request target, in origin form. */
  get target(): string {
    return this.request.url as string
  }

  /** The host that the client asked for, as trusted proxies report it; empty if the client did not say. */
  get host(): string {
    return this.surroundings.proxies.hostOf(this.request)
  }

  /** The scheme that the client used: `http` or `https`, in any case, once the request has passed the gate. */
  get protocol(): string {
    return this.surroundings.proxies.protocolOf(this.request)
  }

  get clientAddress(): string {
    return this.surroundings.proxies.addressOf(this.request)
  }
}
