import type { ErrorCode } from '../errors.ts'
import { durations, Histogram } from '../histogram.ts'

/** Requests of one route, method and outcome. */
export interface RequestSeries {
  /** The route's template, never the path; `noRoute` where no route has the path. */
  readonly route: string
  /** `other` where the API answers no such method. */
  readonly method: string
  /** `aborted` when the client left before it had its answer. */
  readonly status: number | 'aborted'
  /** In seconds. */
  readonly tally: Histogram
}

export const noRoute = 'none'

type ByStatus = Map<RequestSeries['status'], RequestSeries>

const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/**
 * What the requests of this process came to, in series that are bounded in number whatever is sent. Counting is plain
 * arithmetic, since every request does it; whoever wants to know adds it up.
 */
export class RequestCounts {
  /** Requests that have no answer yet. */
  underWay = 0
  readonly #routes = new Map<string, Map<string, ByStatus>>()
  readonly #failures = new Map<ErrorCode, number>()

  /** A request has ended. `ms` is what it took. Returns the series that it was counted in. */
  ended(route: string, method: string, status: RequestSeries['status'], ms: number): RequestSeries {
    this.underWay -= 1
    const series = this.#seriesOf(route, methods.has(method) ? method : 'other', status)
    series.tally.add(ms / 1000)
    return series
  }

  /** A failure was answered. */
  failed(code: ErrorCode): void {
    this.#failures.set(code, (this.#failures.get(code) ?? 0) + 1)
  }

  *series(): Iterable<RequestSeries> {
    for (const byMethod of this.#routes.values()) {
      for (const byStatus of byMethod.values()) yield* byStatus.values()
    }
  }

  failures(code: ErrorCode): number {
    return this.#failures.get(code) ?? 0
  }

  #seriesOf(route: string, method: string, status: RequestSeries['status']): RequestSeries {
    return this.#routes.get(route)?.get(method)?.get(status) ?? this.#newSeries(route, method, status)
  }

  #newSeries(route: string, method: string, status: RequestSeries['status']): RequestSeries {
    const byMethod = this.#routes.get(route) ?? new Map<string, ByStatus>()
    const byStatus: ByStatus = byMethod.get(method) ?? new Map()
    const series = { route, method, status, tally: new Histogram(durations) }
    this.#routes.set(route, byMethod.set(method, byStatus.set(status, series)))
    return series
  }
}
