import type { Logger } from 'pino'
import type { ErrorCode, Failure } from '../errors.ts'
import { durations, Histogram } from '../lib/histogram.ts'
import type { Exchange, RequestObserver } from './exchange.ts'

/** Time for which repeated failures are counted before the count is logged. Milliseconds. */
const windowMs = 60_000
/** Any further kinds of failures are counted as one kind. */
const maxKinds = 100

/** Logs and counts requests. Queries, bodies and headers may contain secrets, so only the ids of a trace are logged. */
export class RequestLog implements RequestObserver {
  readonly #logger: Logger
  readonly #counts: RequestCounts
  readonly #level: 'info' | 'debug'
  readonly #minFailure: number
  /** The number of repetitions of each kind of failure in this minute. */
  readonly #repeats = new Map<string, number>()

  /** Requests are logged at `level`, except for failures with a status of at least `minFailure`, which are at `info`. */
  constructor(logger: Logger, counts: RequestCounts, level: 'info' | 'debug' = 'info', minFailure = 400) {
    this.#logger = logger
    this.#counts = counts
    this.#level = level
    this.#minFailure = minFailure
  }

  started(): void {
    this.#counts.underWay += 1
  }

  rejected(requestId: string, status: number, failure: Failure): void {
    this.#counts.failed(failure.code)
    this.#logger.info({ request_id: requestId, status, code: failure.code }, 'refused')
  }

  /** Logs the first failure of a kind in a minute, and later the number of the others. */
  failed(requestId: string, { code, facts: { reason, cause }, message }: Failure): void {
    const name = [code, reason, cause instanceof Error ? cause.message : String(cause)].join('\n')
    const kind = this.#repeats.size < maxKinds || this.#repeats.has(name) ? name : ''
    const repeats = this.#repeats.get(kind)
    this.#repeats.set(kind, repeats === undefined ? 0 : repeats + 1)
    if (repeats !== undefined) return
    this.#logger.warn({ request_id: requestId, code, reason, err: cause }, message)
    const endWindow = () => {
      const total = this.#repeats.get(kind)
      this.#repeats.delete(kind)
      if (total)
        this.#logger.warn({ code, reason, repeats: total }, 'the same failure again, within a minute of the first')
    }
    setTimeout(endWindow, windowMs).unref()
  }

  crashed(requestId: string, error: unknown): void {
    this.#logger.error({ request_id: requestId, err: error }, 'internal error')
  }

  ended(exchange: Exchange, isAborted: boolean): void {
    const { failure, headers, id, logFields, method, response, route, startedAt } = exchange
    const { statusCode: status } = response
    const ms = performance.now() - startedAt
    this.#counts.ended(route.template ?? 'none', method, isAborted ? 'aborted' : status, ms)
    if (failure !== null) this.#counts.failed(failure)
    const level = failure !== null && status >= this.#minFailure ? 'info' : this.#level
    if (!this.#logger.isLevelEnabled(level)) return
    const fields = {
      method,
      route: route.template,
      status,
      request_id: id,
      ms: Math.round(ms * 1_000) / 1_000,
      code: failure ?? undefined,
      ...logFields,
      ...parseTrace(headers.traceparent),
      aborted: isAborted || undefined,
    }
    this.#logger[level](fields, 'request')
  }
}

/** Version, ids of the trace and the sender's span, and flags (https://www.w3.org/TR/trace-context/ §3.2.2 and §4). */
const traceparent =
  /^(?!ff|00.{54})[\da-f]{2}-(?!0{32})(?<trace_id>[\da-f]{32})-(?!0{16})(?<span_id>[\da-f]{16})-[\da-f]{2}(?:-|$)/

/** Returns the trace that a request belongs to; undefined if its `traceparent` header is missing or invalid. */
export function parseTrace(header: string | string[] | undefined): Readonly<Record<string, string>> | undefined {
  return typeof header === 'string' ? traceparent.exec(header)?.groups : undefined
}

interface RequestSeries {
  /** The route's template, never the path; `none` if no route has the path. */
  readonly route: string
  /** `other` for an unsupported method. */
  readonly method: string
  /** `aborted` if the client left before it had read the response. */
  readonly status: number | 'aborted'
  /** In seconds. */
  readonly durations: Histogram
}

const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** Counts the requests of this process. The number of series is bounded. */
export class RequestCounts {
  /** Requests without a response so far. */
  underWay = 0
  readonly series = new Map<string, RequestSeries>()
  readonly failures = new Map<ErrorCode, number>()

  /** Counts a request that has ended. `ms` is how long it took. */
  ended(route: string, sentMethod: string, status: RequestSeries['status'], ms: number): void {
    this.underWay -= 1
    const method = methods.has(sentMethod) ? sentMethod : 'other'
    const name = `${method} ${status} ${route}`
    let series = this.series.get(name)
    if (series === undefined) {
      series = { route, method, status, durations: new Histogram(durations) }
      this.series.set(name, series)
    }
    series.durations.add(ms / 1000)
  }

  failed(code: ErrorCode): void {
    this.failures.set(code, (this.failures.get(code) ?? 0) + 1)
  }
}
