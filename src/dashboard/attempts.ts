import { Failure } from '../errors.ts'
import { networkOf } from '../http/client-network.ts'
import { Counts, windowMs } from '../limits/counts.ts'

/** Attempts that fail, from one client network, in a minute. */
const failedPerMinute = 10
/** Networks that are counted apart; those beyond share one count. */
const maxNetworks = 100_000

/** Counts the attempts to sign in that fail, by client network, in this process alone. */
export class Attempts {
  readonly #failed = new Counts({ limit: failedPerMinute, toldShare: 1, maxSubjects: maxNetworks }, () => undefined)
  #sweepAt = 0

  /**
   * What the attempt comes to; `rate_limited` instead, if too many from this address have failed. It counts as failed from
   * its beginning until it turns out otherwise: many at once are no way around the limit. Throws what it throws.
   */
  async take<T>(address: string, attempt: () => Promise<T>, hasFailed: (result: T) => boolean): Promise<T | Failure> {
    this.#sweep()
    const network = networkOf(address)
    const { used, msLeft } = this.#failed.add(network, 1)
    if (used > failedPerMinute) return tooMany(msLeft)
    let isFailed = false
    try {
      const result = await attempt()
      isFailed = hasFailed(result)
      return result
    } finally {
      if (!isFailed) this.#failed.add(network, -1)
    }
  }

  /** Forgets windows that are over, and the addresses with them. */
  #sweep(): void {
    const now = performance.now()
    if (now < this.#sweepAt) return
    this.#failed.sweep()
    this.#sweepAt = now + windowMs
  }
}

function tooMany(msLeft: number): Failure {
  return new Failure('rate_limited', 'Too many attempts to sign in have failed. Wait a minute, then try again.', {
    retryAfter: Math.ceil(msLeft / 1_000),
  })
}
