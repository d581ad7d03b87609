import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Logger, symbols } from 'pino'
import type { Failure } from '../errors.ts'
import type { RequestCounts } from './request-counts.ts'
import { traceOf } from './trace-context.ts'

/** What pino keeps of a logger for those that write lines of their own. */
interface Internals {
  readonly [symbols.streamSym]: { write(line: string): void }
  readonly [symbols.timeSym]: () => string
  /** What every line has, such as the process id: members of JSON, each after a comma. */
  readonly [symbols.chindingsSym]: string
}

/**
 * One structured line a request, and one for each bug; and what is counted of them. Never a header (but for the ids of a
 * trace), a query or a body: secrets live there.
 */
export class RequestLog {
  readonly #logger: Logger & Internals
  readonly #counts: RequestCounts
  readonly #isWritten: boolean
  #time = { ms: 0, text: '' }

  constructor(logger: Logger, counts: RequestCounts) {
    this.#logger = logger as Logger & Internals
    this.#counts = counts
    this.#isWritten = logger.isLevelEnabled('info')
  }

  /** Logs and counts every request of the app once its answer has been sent, or its client has gone. */
  attach(app: FastifyInstance): void {
    app.addHook('onRequest', (request, reply, done) => {
      const start = performance.now()
      this.#counts.underWay += 1
      reply.raw.on('close', () => this.#ended(request, reply, performance.now() - start))
      done()
    })
  }

  /** A request that never became one: raw garbage, a timeout, headers without end. */
  refused(requestId: string, status: number, failure: Failure): void {
    this.#counts.failed(failure.code)
    this.#logger.info({ request_id: requestId, status, code: failure.code }, 'refused')
  }

  /** A failure that the operator can do something about, with what caused it. */
  trouble(requestId: string, failure: Failure): void {
    this.#logger.warn({ request_id: requestId, code: failure.code, err: failure.facts.cause }, failure.message)
  }

  /** An error that nobody expected, with its stack. */
  bug(requestId: string, error: unknown): void {
    this.#logger.error({ request_id: requestId, err: error }, 'internal error')
  }

  #ended(request: FastifyRequest, reply: FastifyReply, ms: number): void {
    const { failure, method } = request
    const route = request.routeOptions.url
    const isAborted = !reply.raw.writableFinished
    this.#counts.ended(route, method, isAborted ? 'aborted' : reply.statusCode, ms)
    if (failure !== null) this.#counts.failed(failure)
    if (this.#isWritten) this.#write(request, route, reply.statusCode, ms, isAborted)
  }

  /**
   * Writes the line that `logger.info` would write, for a fifth of the time: no value needs escaping, since methods are
   * tokens, routes are ours and ids have been checked.
   */
  #write(request: FastifyRequest, path: string | undefined, status: number, ms: number, isAborted: boolean): void {
    const { caller, failure, id, method } = request
    const route = path === undefined ? null : `"${path}"`
    const code = failure === null ? '' : `,"code":"${failure}"`
    const by = caller === null ? '' : `,"account":${caller.account},"key":${caller.key}`
    const cut = isAborted ? ',"aborted":true' : ''
    const trace = traceOf(request.raw.headers.traceparent)
    const within = trace === null ? '' : `,"trace_id":"${trace.traceId}","span_id":"${trace.spanId}"`
    const logger = this.#logger
    logger[symbols.streamSym].write(
      `{"level":30${this.#timeText()}${logger[symbols.chindingsSym]},"request_id":"${id}","method":"${method}",` +
        `"route":${route},"status":${status},"ms":${ms.toFixed(3)}${code}${by}${within}${cut},"msg":"request"}\n`,
    )
  }

  /** Many requests end in the same millisecond. */
  #timeText(): string {
    const ms = Date.now()
    if (ms !== this.#time.ms) this.#time = { ms, text: this.#logger[symbols.timeSym]() }
    return this.#time.text
  }
}
