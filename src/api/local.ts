/** The operations of the API for commands: in this process, without a socket, a key or a rate limit. */

import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { PassThrough, type Readable } from 'node:stream'
import type { Actor } from '../access/actor.ts'
import { ByteBudget } from '../http/byte-budget.ts'
import { Exchange, type ExchangeContext } from '../http/exchange.ts'
import { formatProblem } from '../http/failures.ts'
import { type Fields, noFields } from '../http/form-encoding.ts'
import { Proxies } from '../http/proxies.ts'
import { type Operation, pathTo } from './operations.ts'
import type { Api, OperationHandler } from './routes.ts'

/** A request for an operation: the parameters of its path, and the fields of its body, or of its query if it has no body. */
export interface ApiRequest {
  readonly params?: Readonly<Record<string, string>>
  readonly fields?: Fields
}

export interface ApiResponse {
  readonly status: number
  readonly body: Readable
}

/** What commands use the API through. */
export interface ApiClient {
  /** Sends a request. Resolves with the response when its body begins. Throws the failure of the response. */
  send(operation: Operation, request: ApiRequest): Promise<ApiResponse>
}

const ignore = () => undefined
const unlimited = new ByteBudget(Number.POSITIVE_INFINITY)

const context: ExchangeContext = {
  observer: { started: ignore, ended: ignore, rejected: ignore, failed: ignore, crashed: ignore },
  proxies: new Proxies(false),
  formatFailure: formatProblem,
  isSecret: () => false,
  unread: unlimited,
  unfinished: unlimited,
}

/** Calls the handlers of operations directly, always with the same actor, so that all changes of a command are one batch. */
export class LocalApi implements Api, ApiClient {
  readonly #actor: Actor
  readonly #handlers = new Map<string, OperationHandler>()
  /** Returns the URL of the dashboard. */
  readonly baseOf: () => string

  constructor(actor: Actor, baseOf: () => string) {
    this.#actor = actor
    this.baseOf = baseOf
  }

  add(operations: Operation | readonly Operation[], handler: OperationHandler): void {
    for (const { id } of [operations].flat()) this.#handlers.set(id, handler)
  }

  countRows(): undefined {}

  inTurn<T>(_: Actor, work: () => Promise<T>): Promise<T> {
    return work()
  }

  urlOf({ params }: Exchange, operation: Operation): string {
    return pathTo(operation, params)
  }

  async send(operation: Operation, { params = {}, fields = noFields }: ApiRequest): Promise<ApiResponse> {
    const handler = this.#handlers.get(operation.id)
    if (handler === undefined) throw new Error(`Only servers have the operation ${operation.id}.`)
    const request = new IncomingMessage(new Socket())
    request.method = operation.method
    request.url = pathTo(operation, params)
    const response = new LocalResponse(request)
    const [query, body] = operation.body === undefined ? [fields, noFields] : [noFields, fields]
    const route = { template: operation.path, handler: ignore }
    const exchange = new Exchange(context, request, response, { route, params, query })
    const respond = async () => {
      const failure = await handler(exchange, { actor: this.#actor, fields: body })
      if (failure !== undefined) throw failure
    }
    respond().catch(response.fail)
    return { status: await response.begun, body: response.body }
  }
}

/** A response whose status and body stay in this process. */
class LocalResponse extends ServerResponse {
  readonly body = new PassThrough()
  readonly #head = Promise.withResolvers<number>()

  constructor(request: IncomingMessage) {
    super(request)
    this.body.on('drain', () => this.emit('drain'))
    this.body.on('close', () => {
      if (!this.body.writableFinished) this.destroy()
      this.emit('close')
    })
    // A reader of the body gets the error, too.
    this.body.on('error', ignore)
  }

  /** Resolves with the status when the head of the response is written. */
  get begun(): Promise<number> {
    return this.#head.promise
  }

  readonly fail = (error: unknown): void => {
    this.#head.reject(error)
    this.body.destroy(error instanceof Error ? error : new Error(String(error)))
  }

  override writeHead(status: number): this {
    this.#head.resolve(status)
    return this
  }

  override write(chunk: string | Uint8Array): boolean {
    return this.body.write(chunk)
  }

  override end(chunk?: unknown): this {
    this.body.end(chunk)
    return this
  }
}
