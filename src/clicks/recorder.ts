import { setTimeout as wait } from 'node:timers/promises'
import type { Clicks, Meter, Storage } from '../storage/port.ts'
import { addClicks } from './store.ts'

/** The pause between two rounds of writing, and that after one that failed. Milliseconds. */
const everyMs = 200
const awayMs = 1_000
/** Links of one transaction: other writers wait for it. */
const batchSize = 500
/** Links of one round. Sorting them takes the event loop a few milliseconds. */
const roundSize = 40_000
/** How many links may wait to be written: some 50 MB. A larger map would hold the event loop when it grows. */
const maxLinks = 500_000
/** How often a stop tries to write. */
const lastAttempts = 5

interface Count {
  clicks: number
  /** In milliseconds since the recorder was made: small numbers are kept in the object itself. */
  lastAt: number
}

export interface RecorderOptions {
  /** How many links may wait to be written. Beyond, clicks of further links are lost. */
  readonly maxLinks?: number
}

/**
 * Counts clicks in memory and writes the totals in the background. While the database is away they wait. A click is
 * never counted twice: of a batch whose connection broke during the commit it is unknown whether it was kept, and it is
 * not written again.
 */
export class ClickRecorder {
  readonly #storage: Pick<Storage, 'addClicks'>
  readonly #onProblem: (error: unknown) => void
  readonly #maxLinks: number
  readonly #madeAt = Date.now()
  #waiting = new Map<number, Count>()
  /** Links of the round under way that are not written yet. */
  #inHand = 0
  #lost = 0
  #isAway = false
  #isClosed = false
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()
  readonly meters: readonly Meter[] = [
    { name: 'unwritten_links', help: 'Links with clicks that are not written yet.', value: () => this.#held },
    {
      name: 'lost_clicks',
      help: 'Clicks that were not counted: too many links waited for the database, or a connection broke during a commit.',
      value: () => this.#lost,
    },
  ]

  /** `onProblem` hears of the first failure of each outage. */
  constructor(storage: Pick<Storage, 'addClicks'>, onProblem: (error: unknown) => void, options: RecorderOptions = {}) {
    this.#storage = storage
    this.#onProblem = onProblem
    this.#maxLinks = options.maxLinks ?? maxLinks
  }

  /** Counts one click of the link, now. */
  count(linkId: number): void {
    const count = this.#waiting.get(linkId)
    if (count !== undefined) {
      count.clicks += 1
      count.lastAt = Date.now() - this.#madeAt
    } else if (this.#held < this.#maxLinks) {
      this.#waiting.set(linkId, { clicks: 1, lastAt: Date.now() - this.#madeAt })
    } else {
      this.#lost += 1
    }
  }

  /** Begins to write. */
  begin(): void {
    this.#wait(everyMs)
  }

  /**
   * Writes everything that was counted before. Within seconds, also when the database is away: what it does not take by
   * then is lost.
   */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#running
    for (let attempt = 1; this.#waiting.size > 0 && attempt <= lastAttempts; attempt++) {
      if (attempt > 1) await wait(everyMs)
      do await this.#round()
      while (this.#waiting.size > 0 && !this.#isAway)
    }
  }

  get #held(): number {
    return this.#waiting.size + this.#inHand
  }

  #wait(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#running = this.#round().then(() => {
        if (!this.#isClosed) this.#wait(this.#isAway ? awayMs : everyMs)
      })
    }, ms).unref()
  }

  /** Writes what waits, at most `roundSize` links of it. What cannot be written waits again. */
  async #round(): Promise<void> {
    const counts = this.#take()
    // Sorted as numbers, which is many times as fast as by a function; neighbours share pages of the table.
    const ids = Float64Array.from(counts.keys()).sort()
    this.#inHand = ids.length
    try {
      while (this.#inHand > 0) {
        const from = ids.length - this.#inHand
        const batch = Array.from(ids.subarray(from, from + batchSize), (id) => this.#told(id, counts))
        if (!(await addClicks(this.#storage, batch))) for (const { clicks } of batch) this.#lost += clicks
        this.#inHand -= batch.length
      }
      this.#isAway = false
    } catch (error) {
      for (const id of ids.subarray(ids.length - this.#inHand)) this.#putBack(id, counts.get(id) as Count)
      this.#inHand = 0
      if (!this.#isAway) this.#onProblem(error)
      this.#isAway = true
    }
  }

  #take(): Map<number, Count> {
    const all = this.#waiting
    if (all.size <= roundSize) {
      this.#waiting = new Map()
      return all
    }
    const taken = new Map<number, Count>()
    for (const [id, count] of all) {
      if (taken.size === roundSize) break
      taken.set(id, count)
      all.delete(id)
    }
    return taken
  }

  #told(id: number, counts: ReadonlyMap<number, Count>): Clicks {
    const { clicks, lastAt } = counts.get(id) as Count
    return { id, clicks, lastClickedAt: this.#madeAt + lastAt }
  }

  #putBack(id: number, count: Count): void {
    const since = this.#waiting.get(id)
    if (since === undefined) this.#waiting.set(id, count)
    else since.clicks += count.clicks
  }
}
