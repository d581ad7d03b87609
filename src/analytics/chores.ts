import type { Db } from '../storage/port.ts'
import { forgetDeletedLinks, isUpkeepDue } from './store.ts'
import type { Bounds, ClickWriter } from './writer.ts'

/** The pause between two looks at what is due, and that after something has changed. Milliseconds. */
const everyMs = 5_000
const soonMs = 100
const dayMs = 86_400_000
/**
 * How long after the end of a day its visitors and its salt are kept, for clicks that the database took late. With the day
 * itself, well within 48 hours. Milliseconds.
 */
const graceMs = 6 * 3_600_000

export interface ChoreOptions {
  /** Days for which break-downs are kept; 0: for ever. */
  readonly retention: number
  /** Hears of the first failure of each outage. */
  readonly onProblem: (error: unknown) => void
  /** Unix milliseconds. */
  readonly now?: () => number
}

/**
 * Has the thread of clicks do what is due: destroy salts and visitors of days that are over, delete what is beyond the
 * retention or belongs to nothing any more, and move the clicks of links to their new spaces.
 */
export class ClickChores {
  readonly #db: Db
  readonly #writer: Pick<ClickWriter, 'sweep' | 'dropSalts'>
  readonly #options: ChoreOptions
  readonly #now: () => number
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()
  #isAway = false
  #isClosed = true

  constructor(db: Db, writer: Pick<ClickWriter, 'sweep' | 'dropSalts'>, options: ChoreOptions) {
    this.#db = db
    this.#writer = writer
    this.#options = options
    this.#now = options.now ?? Date.now
  }

  /** Begins to look. */
  begin(): void {
    this.#isClosed = false
    this.#wait(soonMs)
  }

  /** Looks soon: something has changed. */
  look(): void {
    if (!this.#isClosed) this.#wait(soonMs)
  }

  /** Does what is due now. Does not throw: what fails is done later. */
  async do(): Promise<void> {
    try {
      const bounds = this.#bounds()
      // Another process may have done it in the database.
      await this.#writer.dropSalts(bounds.visitorsBefore)
      await forgetDeletedLinks(this.#db, this.#now())
      if (await isUpkeepDue(this.#db, bounds)) await this.#writer.sweep(bounds)
      this.#isAway = false
    } catch (error) {
      if (!this.#isAway) this.#options.onProblem(error)
      this.#isAway = true
    }
  }

  /** Waits for what is being done. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#running
  }

  #bounds(): Bounds {
    const now = this.#now()
    const { retention } = this.#options
    return {
      visitorsBefore: Math.floor((now - graceMs) / dayMs),
      daysBefore: retention === 0 ? 0 : Math.floor(now / dayMs) - retention,
    }
  }

  #wait(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#running = this.#running
        .then(() => this.do())
        .then(() => {
          if (!this.#isClosed) this.#wait(everyMs)
        })
    }, ms).unref()
  }
}
