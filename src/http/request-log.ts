import type { Logger } from 'pino'
import type { Failure } from '../errors.ts'
import type { Exchange, RequestObserver } from './exchange.ts'
import { FailureLog } from './failure-log.ts'
import { noRoute, type RequestCounts } from './request-metrics.ts'

type Level = 'info' | 'debug'

/**
 * Logs and counts requests: one structured line for each request and each unexpected error. A line never contains a query,
 * a body or a header other than the ids of a trace, because those may contain secrets.
 */
export class RequestLog implements RequestObserver {
  readonly #logger: Logger
  readonly #counts: RequestCounts
  readonly #level: Level
  readonly #minFailure: number
  readonly #failures: FailureLog

  /** Requests are logged at `level`, except for failures with a status of at least `minFailure`, which are at `info`. */
  constructor(logger: Logger, counts: RequestCounts, level: Level = 'info', minFailure = 400) {
    this.#logger = logger
    this.#counts = counts
    this.#level = level
    this.#minFailure = minFailure
    this.#failures = new FailureLog(logger)
  }

  started(): void {
    this.#counts.underWay += 1
  }

  rejected(requestId: string, status: number, failure: Failure): void {
    this.#counts.failed(failure.code)
    this.#logger.info({ request_id: requestId, status, code: failure.code }, 'refused')
  }

  failed(requestId: string, failure: Failure): void {
    this.#failures.add(requestId, failure)
  }

  crashed(requestId: string, error: unknown): void {
    this.#logger.error({ request_id: requestId, err: error }, 'internal error')
  }

  ended(exchange: Exchange, isAborted: boolean): void {
    const { failure, method, response, route, startedAt } = exchange
    const { statusCode } = response
    const ms = performance.now() - startedAt
    this.#counts.ended(route.template ?? noRoute, method, isAborted ? 'aborted' : statusCode, ms)
    if (failure !== null) this.#counts.failed(failure)
    const level = failure !== null && statusCode >= this.#minFailure ? 'info' : this.#level
    if (this.#logger.isLevelEnabled(level)) this.#logger[level](fieldsOf(exchange, ms, isAborted), 'request')
  }
}

/** Returns the fields of the log line. Undefined fields are not logged. */
function fieldsOf(exchange: Exchange, ms: number, isAborted: boolean): object {
  const { failure, headers, id, logFields, method, response, route } = exchange
  const trace = traceOf(headers.traceparent)
  return {
    method,
    route: route.template,
    status: response.statusCode,
    request_id: id,
    ms: Math.round(ms * 1_000) / 1_000,
    code: failure ?? undefined,
    ...logFields,
    trace_id: trace?.traceId,
    span_id: trace?.spanId,
    aborted: isAborted || undefined,
  }
}

/** The trace that a request belongs to (https://www.w3.org/TR/trace-context/). */
export interface Trace {
  /** 32 digits of lower-case hex. */
  readonly traceId: string
  /** The sender's span: 16 digits of lower-case hex. */
  readonly spanId: string
}

/**
 * Version, trace id, parent id and flags (§3.2.2). The ids are not all zero, and version 00 has exactly 55 characters.
 * Higher versions may continue after another hyphen (§4); ff is not a version.
 */
const traceparent = /^(?!ff|00.{54})[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-[\da-f]{2}(?:-|$)/

/** Returns the trace in a `traceparent` header, or null if it is missing or invalid. */
export function traceOf(header: string | string[] | undefined): Trace | null {
  const [, traceId, spanId] = (typeof header === 'string' && traceparent.exec(header)) || []
  return traceId === undefined || spanId === undefined ? null : { traceId, spanId }
}
