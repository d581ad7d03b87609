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

  /** The `rate_limited` that answers an attempt from this address, if too many have failed. */
  refusal(address: string): Failure | undefined {
    this.#sweep()
    const { used, msLeft } = this.#failed.add(networkOf(address), 0)
    if (used < failedPerMinute) return undefined
    return new Failure('rate_limited', 'Too many attempts to sign in have failed. Wait a minute, then try again.', {
      retryAfter: Math.ceil(msLeft / 1_000),
    })
  }

  /** Notes an attempt that failed. */
  fail(address: string): void {
    this.#failed.add(networkOf(address), 1)
  }

  /** Forgets windows that are over, and the addresses with them. */
  #sweep(): void {
    const now = performance.now()
    if (now < this.#sweepAt) return
    this.#failed.sweep()
    this.#sweepAt = now + windowMs
  }
}
