import { type Failure, overloaded } from '../errors.ts'
import { durations, Histogram } from '../lib/histogram.ts'
import { Periodic } from '../lib/periodic.ts'

/** The mean event-loop delay above which requests are rejected. Milliseconds. */
const maxDelayMs = 250
/** The time constant of the mean, which gives recent samples more weight. Milliseconds. */
const windowMs = 250
const sampleEveryMs = 20
/** The maximum weight and delay (in limits) of a sample. Their product is below 1: one late tick is not overload. */
const maxWeight = 0.8
const maxLateness = 1.2

/** Rejects requests above a mean event-loop delay. `monitorEventLoopDelay` drops the first delay after each reset. */
export class Overload {
  /** The delay of each sample. Seconds. */
  readonly delays = new Histogram(durations)
  readonly #sampling = new Periodic(() => this.#sample(), {
    everyMs: sampleEveryMs,
    onError: (error) => {
      throw error
    },
  })
  #sampledAt: number | undefined
  #delayMs = 0

  /** Starts to measure. Until then, no request is rejected, because a slow start is not overload. */
  begin(): void {
    this.#sampling.start()
  }

  refusal(): Failure | undefined {
    if (this.#delayMs <= maxDelayMs) return undefined
    return overloaded('The server is overloaded.')
  }

  close(): Promise<void> {
    return this.#sampling.close()
  }

  #sample(): void {
    const now = performance.now()
    const elapsed = now - (this.#sampledAt ?? now - sampleEveryMs)
    this.#sampledAt = now
    this.delays.add(Math.max(0, elapsed - sampleEveryMs) / 1000)
    const weight = Math.min(maxWeight, 1 - Math.exp(-elapsed / windowMs))
    const lateness = Math.min(maxLateness * maxDelayMs, elapsed - sampleEveryMs)
    this.#delayMs += weight * (lateness - this.#delayMs)
  }
}
