import type { ErrorCode } from '../errors.ts'
import { durations, Tally } from '../tally.ts'

/** Requests of one route, method and outcome. */
export interface RequestSeries {
  /** The route's template, never the path; `none` where no route has the path. */
  readonly route: string
  /** `other` where the API answers no such method. */
  readonly method: string
  /** `aborted` when the client left before it had its answer. */
  readonly status: number | 'aborted'
  /** In seconds. */
  readonly tally: Tally
}

type ByStatus = Map<RequestSeries['status'], Tally>

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

  /** A request has ended. `ms` is what it took. */
  ended(route: string | undefined, method: string, status: RequestSeries['status'], ms: number): void {
    this.underWay -= 1
    this.#tallyOf(route ?? 'none', methods.has(method) ? method : 'other', status).add(ms / 1000)
  }

  /** A failure was answered. */
  failed(code: ErrorCode): void {
    this.#failures.set(code, (this.#failures.get(code) ?? 0) + 1)
  }

  *series(): Iterable<RequestSeries> {
    for (const [route, byMethod] of this.#routes) {
      for (const [method, byStatus] of byMethod) {
        for (const [status, tally] of byStatus) yield { route, method, status, tally }
      }
    }
  }

  failures(code: ErrorCode): number {
    return this.#failures.get(code) ?? 0
  }

  #tallyOf(route: string, method: string, status: RequestSeries['status']): Tally {
    return this.#routes.get(route)?.get(method)?.get(status) ?? this.#newTally(route, method, status)
  }

  #newTally(route: string, method: string, status: RequestSeries['status']): Tally {
    const byMethod = this.#routes.get(route) ?? new Map<string, ByStatus>()
    const byStatus = byMethod.get(method) ?? new Map<RequestSeries['status'], Tally>()
    const tally = new Tally(durations)
    this.#routes.set(route, byMethod.set(method, byStatus.set(status, tally)))
    return tally
  }
}
