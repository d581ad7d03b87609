import { setTimeout as wait } from 'node:timers/promises'
import { Periodic } from '../lib/periodic.ts'

/**
 * The time that a request waits for its removal. By then, the removed records are invisible. Much shorter than the 10 s after
 * which a proxy counts this server as failed. Milliseconds.
 */
export const maxWaitMs = 5_000
/** The interval at which interrupted removals are resumed, and the pause after an error. Milliseconds. */
const [resumeEveryMs, retryMs] = [60_000, 1_000]

interface RemovalsOptions {
  /** Finishes interrupted removals. */
  readonly finish: (isStopped: () => boolean) => Promise<void>
  readonly onProblem: (error: unknown) => void
}

/** Removals in steps, which may take longer than a request can wait, and survive a crash or an outage of the database. */
export class Removals {
  readonly #options: RemovalsOptions
  readonly #running = new Set<Promise<void>>()
  readonly #resume: Periodic
  #isClosed = false
  #isInterrupted = false
  readonly #isStopped = () => this.#isClosed

  constructor(options: RemovalsOptions) {
    this.#options = options
    const onError = (error: unknown) => this.#interrupted(error)
    this.#resume = new Periodic(() => this.#resumeAll(), { everyMs: resumeEveryMs, onError })
  }

  /** Resumes interrupted removals, now and at intervals. */
  start(): void {
    this.#resume.start(0)
  }

  /** Runs a removal. Resolves when it ends, or after `maxWaitMs`. Rejects if it fails before. */
  async run(removal: (isStopped: () => boolean) => Promise<void>): Promise<void> {
    const work = removal(this.#isStopped)
    this.#running.add(work)
    work.catch((error) => this.#interrupted(error)).finally(() => this.#running.delete(work))
    await Promise.race([work, wait(maxWaitMs, undefined, { ref: false })])
  }

  async #resumeAll(): Promise<void> {
    if (this.#running.size > 0) {
      if (this.#isInterrupted) this.#resume.runIn(retryMs)
      return
    }
    await this.#options.finish(this.#isStopped)
    this.#isInterrupted = false
  }

  /** Reports the first error of an outage, and resumes soon. */
  #interrupted(error: unknown): void {
    if (!this.#isInterrupted) this.#options.onProblem(error)
    this.#isInterrupted = true
    this.#resume.runIn(retryMs)
  }

  /** Stops removals after the current step. They continue after the next start. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#resume.close()
    await Promise.allSettled(this.#running)
  }
}
