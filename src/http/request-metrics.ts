import type { ErrorCode } from '../errors.ts'
import { durations, Histogram } from '../lib/histogram.ts'

/** The requests of one route, method and outcome. */
interface RequestSeries {
  /** The route's template, never the path; `noRoute` if no route has the path. */
  readonly route: string
  /** `other` for an unsupported method. */
  readonly method: string
  /** `aborted` if the client left before it had read the response. */
  readonly status: number | 'aborted'
  /** In seconds. */
  readonly durations: Histogram
}

export const noRoute = 'none'

const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** Counts the requests of this process. The number of series is bounded. */
export class RequestCounts {
  /** Requests without a response so far. */
  underWay = 0
  readonly #series = new Map<string, RequestSeries>()
  readonly #failures = new Map<ErrorCode, number>()

  /** Counts a request that has ended. `ms` is how long it took. */
  ended(route: string, sentMethod: string, status: RequestSeries['status'], ms: number): void {
    this.underWay -= 1
    const method = methods.has(sentMethod) ? sentMethod : 'other'
    const name = `${method} ${status} ${route}`
    let series = this.#series.get(name)
    if (series === undefined) {
      series = { route, method, status, durations: new Histogram(durations) }
      this.#series.set(name, series)
    }
    series.durations.add(ms / 1000)
  }

  /** Counts a failure response. */
  failed(code: ErrorCode): void {
    this.#failures.set(code, this.failures(code) + 1)
  }

  series(): Iterable<RequestSeries> {
    return this.#series.values()
  }

  failures(code: ErrorCode): number {
    return this.#failures.get(code) ?? 0
  }
}
