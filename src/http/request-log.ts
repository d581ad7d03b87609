import type { Logger } from 'pino'
import type { Failure } from '../errors.ts'
import type { Exchange, Journal } from './exchange.ts'
import { noRoute, type RequestCounts } from './request-metrics.ts'
import { traceOf } from './trace-context.ts'
import { Troubles } from './troubles.ts'

type Level = 'info' | 'debug'

/** Where the log goes. */
export interface LogOutput {
  readonly logger: Logger
  /** Writes a line like those of `logger`. `members` is JSON: each member after a comma. */
  readonly writeLine: (level: Level, members: string) => void
}

/**
 * Logs and counts requests: one structured line per request, and one per bug. A line never holds a header (except the
 * ids of a trace), a query or a body: secrets live there.
 */
export class RequestLog implements Journal {
  readonly #output: LogOutput
  readonly #counts: RequestCounts
  readonly #level: Level
  readonly #leastFailure: number
  readonly #troubles: Troubles

  /** `level` is that of requests without a failure of at least the status `leastFailure`. */
  constructor(output: LogOutput, counts: RequestCounts, level: Level = 'info', leastFailure = 400) {
    this.#output = output
    this.#counts = counts
    this.#level = level
    this.#leastFailure = leastFailure
    this.#troubles = new Troubles(output.logger)
  }

  /** Counts a request that has arrived. `ended` must follow. */
  began(): void {
    this.#counts.underWay += 1
  }

  /** Logs what never became a request: garbage, a timeout, headers that are too long. */
  refused(requestId: string, status: number, failure: Failure): void {
    this.#counts.failed(failure.code)
    this.#output.logger.info({ request_id: requestId, status, code: failure.code }, 'refused')
  }

  /** Logs a failure that the operator can mend, with its cause unless the same was logged within the last minute. */
  trouble(requestId: string, failure: Failure): void {
    this.#troubles.add(requestId, failure)
  }

  /** Logs an unexpected error with its stack. */
  bug(requestId: string, error: unknown): void {
    this.#output.logger.error({ request_id: requestId, err: error }, 'internal error')
  }

  /** Logs and counts a request whose answer has been sent, or whose client has gone. */
  ended(exchange: Exchange, isAborted: boolean): void {
    const { failure, method, response, route, startedAt } = exchange
    const { statusCode } = response
    const ms = performance.now() - startedAt
    this.#counts.ended(route.template ?? noRoute, method, isAborted ? 'aborted' : statusCode, ms)
    if (failure !== null) this.#counts.failed(failure)
    const level = failure !== null && statusCode >= this.#leastFailure ? 'info' : this.#level
    if (this.#output.logger.isLevelEnabled(level)) this.#output.writeLine(level, membersOf(exchange, ms, isAborted))
  }
}

/**
 * The members of a request's log line, as text: passing pino an object costs a tenth of a show (ADR 18). Only `logged` needs
 * escaping, since methods are tokens, templates and codes are ours, and ids have been checked.
 */
function membersOf(
  { failure, headers, id, logged, method, response, route }: Exchange,
  ms: number,
  isAborted: boolean,
) {
  const template = route.template === null ? 'null' : `"${route.template}"`
  let members = `,"method":"${method}","route":${template},"status":${response.statusCode},"request_id":"${id}","ms":${ms.toFixed(3)}`
  if (failure !== null) members += `,"code":"${failure}"`
  for (const name in logged) members += `,"${name}":${JSON.stringify(logged[name])}`
  const trace = traceOf(headers.traceparent)
  if (trace !== null) members += `,"trace_id":"${trace.traceId}","span_id":"${trace.spanId}"`
  if (isAborted) members += ',"aborted":true'
  return `${members},"msg":"request"`
}
