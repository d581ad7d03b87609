import { randomUUID } from 'node:crypto'
import type { Db } from '../storage/port.ts'
import type { Counts } from './counts.ts'
import { countsElsewhere, forgetCounts, tellCounts } from './store.ts'

/** How often nodes hear of each other when little happens, and the pause between two rounds when much does. Milliseconds. */
const everyMs = 2_000
const pauseMs = 10
/** Subjects of a kind that one round tells of; the rest is for the next. */
const toldAtOnce = 200
const forgetEveryMs = 60_000

/**
 * Shares counts with the other processes on the same database, in the background: no request waits for it, and while
 * the database is away, each node goes by its own counts.
 */
export class Sharing {
  readonly #db: Db
  readonly #kinds: Readonly<Record<string, Counts>>
  readonly #node = randomUUID()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()
  #isRunning = false
  #isUrgent = false
  /** Whether the last round failed. Until one succeeds, nothing is hurried, to spare the database. */
  #isAway = false
  #endedAt = 0
  #isClosed = false
  /** On the monotonic clock, which no clock change moves. */
  #forgetAt = 0

  /** `kinds` names each kind of subject, alike on all nodes. */
  constructor(db: Db, kinds: Readonly<Record<string, Counts>>) {
    this.#db = db
    this.#kinds = kinds
  }

  /** Begins with what the others have counted so far. */
  begin(): void {
    this.#wait(0)
  }

  /** Lets the others know within a moment. */
  hurry(): void {
    if (this.#isUrgent || this.#isAway || this.#timer === undefined) return
    this.#isUrgent = true
    if (!this.#isRunning) this.#wait(Math.max(0, this.#endedAt + pauseMs - performance.now()))
  }

  /** Tells the others a last time. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#running
    if (this.#timer !== undefined) await this.#tell().catch(() => undefined)
  }

  #wait(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#running = this.#round()
    }, ms).unref()
  }

  async #round(): Promise<void> {
    this.#isRunning = true
    this.#isUrgent = false
    const isDue = performance.now() >= this.#forgetAt
    if (isDue) this.#forgetAt = performance.now() + forgetEveryMs
    // Also while the database is away, since requests go on to be counted.
    if (isDue) for (const counts of Object.values(this.#kinds)) counts.sweep()
    try {
      await this.#tell()
      await this.#listen()
      if (isDue) await forgetCounts(this.#db, Date.now() - forgetEveryMs)
      this.#isAway = false
    } catch {
      // The next round says and hears it all.
      this.#isAway = true
    }
    this.#isRunning = false
    this.#endedAt = performance.now()
    if (!this.#isClosed) this.#wait(this.#isUrgent && !this.#isAway ? pauseMs : everyMs)
  }

  async #tell(): Promise<void> {
    for (const [kind, counts] of Object.entries(this.#kinds)) {
      const untold = counts.untold(toldAtOnce)
      if (untold.length === 0) continue
      const named = untold.map((tally) => ({ ...tally, subject: `${kind}:${tally.subject}` }))
      try {
        await tellCounts(this.#db, this.#node, named)
      } catch (error) {
        counts.notTold(untold)
        throw error
      }
    }
  }

  async #listen(): Promise<void> {
    for (const { subject, ...rest } of await countsElsewhere(this.#db, this.#node, Date.now())) {
      const colon = subject.indexOf(':')
      this.#kinds[subject.slice(0, colon)]?.learn({ subject: subject.slice(colon + 1), ...rest })
    }
  }
}
