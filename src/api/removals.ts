/**
 * Removals that go on in steps, for as long as they take. A request waits for its own a while.
 */
import { setTimeout as wait } from 'node:timers/promises'

/** If a removal takes longer, the client is answered before it ends; what is removed is out of sight by then. */
const maxWaitMs = 10_000
/** How often removals are looked for that a crash, or a database that went away, has interrupted. */
const retryEveryMs = 60_000

export interface RemovalsOptions {
  /** Ends the removals that were interrupted. */
  readonly finish: (isStopped: () => boolean) => Promise<void>
  readonly onProblem: (error: unknown) => void
}

export class Removals {
  readonly #options: RemovalsOptions
  readonly #underWay = new Set<Promise<void>>()
  readonly #isStopped = () => this.#isClosed
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: RemovalsOptions) {
    this.#options = options
  }

  /** Ends what was interrupted, now and from time to time. */
  begin(): void {
    this.#finish()
    this.#timer = setInterval(() => this.#finish(), retryEveryMs).unref()
  }

  /** Waits for the work, but no longer than ten seconds: it goes on without. Throws what the work throws. */
  async wait(begin: (isStopped: () => boolean) => Promise<void>): Promise<void> {
    const work = begin(this.#isStopped)
    const over = new AbortController()
    const late = wait(maxWaitMs, undefined, { signal: over.signal })
    this.#track(work)
    try {
      await Promise.race([work, late])
    } finally {
      over.abort()
    }
  }

  /** Stops removals after their present step: they go on at the next start. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    await Promise.allSettled(this.#underWay)
  }

  #finish(): void {
    if (this.#underWay.size === 0) this.#track(this.#options.finish(this.#isStopped))
  }

  #track(work: Promise<void>): void {
    this.#underWay.add(work)
    work.catch(this.#options.onProblem).finally(() => this.#underWay.delete(work))
  }
}
