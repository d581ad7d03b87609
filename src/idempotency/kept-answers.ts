import { idempotencyInProgress } from '../errors.ts'
import type { Db } from '../storage/port.ts'
import { type Answer, answerOnce, type Claim, type OnceAnswered, purgedAtOnce, purgeExpired } from './store.ts'

/** How often answers that have expired are looked for. */
const purgeEveryMs = 60_000

/**
 * Carries out each claimed request once. The database alone guarantees that; this process remembers only the requests
 * that it is working on, so that a repetition in the meantime need not wait in the queue of writes.
 */
export class KeptAnswers {
  readonly #db: Db
  readonly #running = new Set<string>()
  readonly #timer: NodeJS.Timeout
  #purging: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(db: Db, everyMs = purgeEveryMs) {
    this.#db = db
    this.#timer = setInterval(() => {
      this.#purging = this.#purging.then(() => this.#purge())
    }, everyMs).unref()
  }

  /**
   * See `answerOnce`; without a claim, `work` is simply done. Throws `idempotency_in_progress` while this process works on
   * the first request.
   */
  async once(claim: Claim | null, work: (db: Db) => Promise<Answer>): Promise<OnceAnswered> {
    if (claim === null) return { ...(await work(this.#db)), isReplayed: false }
    const name = `${claim.key_id} ${claim.idempotency_key}`
    if (this.#running.has(name)) throw idempotencyInProgress()
    this.#running.add(name)
    try {
      return await answerOnce(this.#db, claim, work)
    } finally {
      this.#running.delete(name)
    }
  }

  /** Resolves when the database is not asked for anything any more. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    await this.#purging
  }

  /** In transactions of their own, between which others get their turn. A failure is no loss: the next one purges more. */
  async #purge(): Promise<void> {
    let gone = purgedAtOnce
    while (gone === purgedAtOnce && !this.#isClosed) gone = await purgeExpired(this.#db).catch(() => 0)
  }
}
