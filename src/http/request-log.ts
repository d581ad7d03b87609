import type { Logger } from 'pino'
import type { Failure } from '../errors.ts'
import type { Exchange, RequestObserver } from './exchange.ts'
import { FailureLog } from './failure-log.ts'
import { noRoute, type RequestCounts } from './request-metrics.ts'

type Level = 'info' | 'debug'

/** Where the log goes. */
export interface LogOutput {
  readonly logger: Logger
  /** Writes a line like those of `logger`. `members` is JSON: each member after a comma. */
  readonly writeLine: (level: Level, members: string) => void
}

/**
 * Logs and counts requests: one structured line for each request and each unexpected error. A line never contains a query,
 * a body or a header other than the ids of a trace, because those may contain secrets.
 */
export class RequestLog implements RequestObserver {
  readonly #output: LogOutput
  readonly #counts: RequestCounts
  readonly #level: Level
  readonly #minFailure: number
  readonly #failures: FailureLog

  /** Requests are logged at `level`, except for failures with a status of at least `minFailure`, which are at `info`. */
  constructor(output: LogOutput, counts: RequestCounts, level: Level = 'info', minFailure = 400) {
    this.#output = output
    this.#counts = counts
    this.#level = level
    this.#minFailure = minFailure
    this.#failures = new FailureLog(output.logger)
  }

  started(): void {
    this.#counts.underWay += 1
  }

  rejected(requestId: string, status: number, failure: Failure): void {
    this.#counts.failed(failure.code)
    this.#output.logger.info({ request_id: requestId, status, code: failure.code }, 'refused')
  }

  failed(requestId: string, failure: Failure): void {
    this.#failures.add(requestId, failure)
  }

  crashed(requestId: string, error: unknown): void {
    this.#output.logger.error({ request_id: requestId, err: error }, 'internal error')
  }

  ended(exchange: Exchange, isAborted: boolean): void {
    const { failure, method, response, route, startedAt } = exchange
    const { statusCode } = response
    const ms = performance.now() - startedAt
    this.#counts.ended(route.template ?? noRoute, method, isAborted ? 'aborted' : statusCode, ms)
    if (failure !== null) this.#counts.failed(failure)
    const level = failure !== null && statusCode >= this.#minFailure ? 'info' : this.#level
    if (this.#output.logger.isLevelEnabled(level)) this.#output.writeLine(level, membersOf(exchange, ms, isAborted))
  }
}

/**
 * The members of a request's log line, as text: passing pino an object costs a tenth of a show (ADR 18). Only `logFields` needs
 * escaping, since methods are tokens, templates and codes are ours, and ids have been checked.
 */
function membersOf(
  { failure, headers, id, logFields, method, response, route }: Exchange,
  ms: number,
  isAborted: boolean,
) {
  const template = route.template === null ? 'null' : `"${route.template}"`
  let members = `,"method":"${method}","route":${template},"status":${response.statusCode},"request_id":"${id}","ms":${ms.toFixed(3)}`
  if (failure !== null) members += `,"code":"${failure}"`
  for (const name in logFields) members += `,"${name}":${JSON.stringify(logFields[name])}`
  const trace = traceOf(headers.traceparent)
  if (trace !== null) members += `,"trace_id":"${trace.traceId}","span_id":"${trace.spanId}"`
  if (isAborted) members += ',"aborted":true'
  return `${members},"msg":"request"`
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
