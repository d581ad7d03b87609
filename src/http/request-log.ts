import type { Logger } from 'pino'
import type { Failure } from '../errors.ts'
import type { Exchange, Journal } from './exchange.ts'
import { noRoute, type RequestCounts } from './request-metrics.ts'
import { traceOf } from './trace-context.ts'
import { Troubles } from './troubles.ts'

/**
 * Logs and counts requests: one structured line per request, and one per bug. A line never holds a header (except the
 * ids of a trace), a query or a body: secrets live there.
 */
export class RequestLog implements Journal {
  readonly #logger: Logger
  readonly #counts: RequestCounts
  readonly #level: 'info' | 'debug'
  readonly #troubles: Troubles
  readonly #children = new Map<string, Logger>()

  /** `level` is that of requests without a failure. */
  constructor(logger: Logger, counts: RequestCounts, level: 'info' | 'debug' = 'info') {
    this.#logger = logger
    this.#counts = counts
    this.#level = level
    this.#troubles = new Troubles(logger)
  }

  /** Counts a request that has arrived. `ended` must follow. */
  began(): void {
    this.#counts.underWay += 1
  }

  /** Logs what never became a request: garbage, a timeout, headers that are too long. */
  refused(requestId: string, status: number, failure: Failure): void {
    this.#counts.failed(failure.code)
    this.#logger.info({ request_id: requestId, status, code: failure.code }, 'refused')
  }

  /** Logs a failure that the operator can mend, with its cause unless the same was logged within the last minute. */
  trouble(requestId: string, failure: Failure): void {
    this.#troubles.add(requestId, failure)
  }

  /** Logs an unexpected error with its stack. */
  bug(requestId: string, error: unknown): void {
    this.#logger.error({ request_id: requestId, err: error }, 'internal error')
  }

  /** Logs and counts a request whose answer has been sent, or whose client has gone. */
  ended(exchange: Exchange, isAborted: boolean): void {
    const { failure, headers, id, logged, method, response, route, startedAt } = exchange
    const { statusCode } = response
    const ms = performance.now() - startedAt
    this.#counts.ended(route.template ?? noRoute, method, isAborted ? 'aborted' : statusCode, ms)
    if (failure !== null) this.#counts.failed(failure)
    const trace = traceOf(headers.traceparent)
    this.#loggerOf(method, route.template, statusCode)[failure === null ? this.#level : 'info'](
      {
        request_id: id,
        ms: Math.round(ms * 1_000) / 1_000,
        code: failure ?? undefined,
        ...logged,
        trace_id: trace?.traceId,
        span_id: trace?.spanId,
        aborted: isAborted || undefined,
      },
      'request',
    )
  }

  /** A child keeps what many lines share as text: without it a line takes twice as long (ADR 18). */
  #loggerOf(method: string, route: string | null, status: number): Logger {
    const name = `${method} ${status} ${route}`
    const known = this.#children.get(name)
    if (known !== undefined) return known
    const child = this.#logger.child({ method, route, status })
    this.#children.set(name, child)
    return child
  }
}
