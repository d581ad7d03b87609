import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { type ErrorCode, Failure } from '../errors.ts'
import type { ByteBudget } from './byte-budget.ts'
import { type Fields, noFields } from './form-encoding.ts'
import type { Proxies } from './proxies.ts'

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Sends the response, or returns or throws the failure to respond with. */
export type Handler = (exchange: Exchange) => HandlerResult | Promise<HandlerResult>

/** A failure to respond with; undefined if the response has been sent. */
export type HandlerResult = Failure | undefined

export interface RouteOptions {
  /** Whether requests are served under overload and beyond the connection limit, as a health check must be. */
  readonly isAlwaysServed?: boolean
  /** Formats failures, if not as the listener does. */
  readonly formatFailure?: FailureFormatter
}

export interface Route extends RouteOptions {
  /** The path, with `:name` for each variable part; null if no route has the path or the method. */
  readonly template: string | null
  readonly handler: Handler
}

export interface Match {
  readonly route: Route
  readonly params: Readonly<Record<string, string | undefined>>
  readonly query: Fields | Failure
}

export interface FailureResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Formats a failure for clients. `accept` is the request's Accept header, if it could be read. */
export type FailureFormatter = (failure: Failure, requestId: string, accept: string | undefined) => FailureResponse

export interface RequestObserver {
  /** A request has arrived. A call of `ended` must follow. */
  started(): void
  /** The response has been sent, or the client has left before that. */
  ended(exchange: Exchange, isAborted: boolean): void
  /** A connection was rejected before it brought a complete request. */
  rejected(requestId: string, status: number, failure: Failure): void
  /** A failure occurred whose cause the operator can fix. */
  failed(requestId: string, failure: Failure): void
  crashed(requestId: string, error: unknown): void
}

export interface ExchangeContext {
  readonly observer: RequestObserver
  readonly proxies: Proxies
  readonly formatFailure: FailureFormatter
  /** Headers of every response, even to bytes that are not valid HTTP. Names are in lower case. */
  readonly fixedHeaders?: Readonly<Record<string, string>>
  /** Adds headers to every response to a request, before the request is checked. */
  readonly onArrival?: (exchange: Exchange) => void
  readonly onFailure?: (exchange: Exchange) => void
  /** Whether a request id from a client contains a secret, which must not be logged. */
  readonly isSecret: (text: string) => boolean
  /** The memory for responses that clients have not read. */
  readonly unread: ByteBudget
  /** The memory for incomplete bodies, and for pipelined requests that wait. */
  readonly unfinished: ByteBudget
}

export class Exchange {
  readonly id: string
  /** Monotonic milliseconds. */
  readonly startedAt = performance.now()
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly params: Match['params']
  readonly query: Fields
  readonly route: Route
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly context: ExchangeContext
  /** The response headers: names and values alternate. */
  readonly headerFields: string[]
  /** Fields that the handler adds to the log line of the request. */
  logFields: Readonly<Record<string, string | number>> = {}
  failure: ErrorCode | null = null

  constructor(context: ExchangeContext, request: IncomingMessage, response: ServerResponse, match: Match) {
    this.id = chooseRequestId(request.headers['x-request-id'], context.isSecret)
    this.method = request.method as string
    this.headers = request.headers
    this.params = match.params
    this.query = match.query instanceof Failure ? noFields : match.query
    this.route = match.route
    this.request = request
    this.response = response
    this.context = context
    this.headerFields = ['x-request-id', this.id, 'x-content-type-options', 'nosniff']
    for (const name in context.fixedHeaders) this.headerFields.push(name, context.fixedHeaders[name] as string)
  }

  /** The request target, in origin form. */
  get target(): string {
    return this.request.url as string
  }

  /** The requested host, as reported by trusted proxies; empty if the request has none. */
  get host(): string {
    return this.context.proxies.readHost(this.request)
  }

  /** The scheme of the request, in any case: `http` or `https` once the request has been checked. */
  get protocol(): string {
    return this.context.proxies.readProtocol(this.request)
  }

  get clientAddress(): string {
    return this.context.proxies.readAddress(this.request)
  }
}

/** Returns the sent id if it is safe to log, otherwise a new id. Clients sometimes send a key in the wrong header. */
function chooseRequestId(sent: string | string[] | undefined, isSecret: (text: string) => boolean): string {
  return typeof sent === 'string' && /^[\w.-]{1,64}$/.test(sent) && !isSecret(sent) ? sent : newRequestId()
}

const processId = randomBytes(9).toString('base64url')
let requests = 0

/** Returns a request id that is unique across processes. */
export function newRequestId(): string {
  requests += 1
  return `${processId}-${requests.toString(36)}`
}
