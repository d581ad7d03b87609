import { type Failure, overloaded } from '../errors.ts'
import { durations, Histogram } from '../histogram.ts'

/** Mean event-loop delay past which requests are turned away, in milliseconds. */
export const maxDelayMs = 250
/** What the mean is taken over, with more weight on what is recent. */
const windowMs = 250
const sampleEveryMs = 20
/**
 * Caps on the weight of one sample and, in multiples of the limit, on its lateness. Their product is below 1, so one
 * sample alone never exceeds the limit.
 */
const maxWeight = 0.8
const maxLateness = 1.2

/**
 * Watches how late the event loop runs. Past the limit, requests are turned away at once: those that are let in stay
 * fast, and those that are not know it before their client gives up. One late turn is not enough, however long it took:
 * a machine that was paused is not overloaded.
 *
 * Node's `monitorEventLoopDelay` will not do: it drops the first delay after each reset, and when every turn of the loop
 * takes longer than the time between two resets, which is when it matters, there is never a second one.
 */
export class Overload {
  /** How late the event loop ran, each time that it was looked at; in seconds. */
  readonly delays = new Histogram(durations)
  readonly #limitMs: number
  #timer: NodeJS.Timeout | undefined
  /** Not known before the first sample. */
  #sampledAt: number | undefined
  #delayMs = 0

  constructor(limitMs = maxDelayMs) {
    this.#limitMs = limitMs
  }

  /** Begins to watch. Until then no request is refused: a start that takes long is no overload. */
  begin(): void {
    this.#timer = setInterval(() => this.#sample(), sampleEveryMs).unref()
  }

  /** The failure that answers a request while the process is overloaded. */
  refusal(): Failure | undefined {
    if (this.#delayMs <= this.#limitMs) return undefined
    return overloaded('The server has more work than it can do in good time.')
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #sample(): void {
    const now = performance.now()
    const elapsed = now - (this.#sampledAt ?? now - sampleEveryMs)
    this.#sampledAt = now
    this.delays.add(Math.max(0, elapsed - sampleEveryMs) / 1000)
    const weight = Math.min(maxWeight, 1 - Math.exp(-elapsed / windowMs))
    const lateness = Math.min(maxLateness * this.#limitMs, elapsed - sampleEveryMs)
    this.#delayMs += weight * (lateness - this.#delayMs)
  }
}
