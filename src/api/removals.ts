/**
 * Removals that go on in steps, for as long as they take. A request waits for its own a while.
 */
import { setTimeout as wait } from 'node:timers/promises'

/** A client hears of a removal that takes longer before it is finished; what is removed is out of sight by then. */
const maxWaitMs = 10_000
/** How often removals are looked for that a crash, or a database that went away, has interrupted. */
const retryEveryMs = 60_000

export interface RemovalsOptions {
  /** Ends the removals that were interrupted. */
  readonly finish: () => Promise<void>
  readonly onProblem: (error: unknown) => void
}

export class Removals {
  readonly #options: RemovalsOptions
  readonly #underWay = new Set<Promise<void>>()
  #timer: NodeJS.Timeout | undefined

  constructor(options: RemovalsOptions) {
    this.#options = options
  }

  /** Ends what was interrupted, now and from time to time. */
  begin(): void {
    this.#finish()
    this.#timer = setInterval(() => this.#finish(), retryEveryMs).unref()
  }

  /** Waits for the work, but no longer than ten seconds: it goes on without. Throws what the work throws. */
  async wait(work: Promise<void>): Promise<void> {
    const over = new AbortController()
    const late = wait(maxWaitMs, undefined, { signal: over.signal })
    this.#track(work)
    try {
      await Promise.race([work, late])
    } finally {
      over.abort()
    }
  }

  /** Waits for nothing: a removal that is cut off goes on at the next start. */
  close(): void {
    clearInterval(this.#timer)
  }

  #finish(): void {
    if (this.#underWay.size === 0) this.#track(this.#options.finish())
  }

  #track(work: Promise<void>): void {
    this.#underWay.add(work)
    work.catch(this.#options.onProblem).finally(() => this.#underWay.delete(work))
  }
}
