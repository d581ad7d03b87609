import { setTimeout as wait } from 'node:timers/promises'
import { Failure } from '../errors.ts'
import type { Meter } from '../storage/port.ts'
import { pack, type Visit } from './capture/visit.ts'
import type { ClickWriter } from './writer.ts'

/** The pause between two rounds of writing, and that after one that failed. Milliseconds. */
const everyMs = 300
const awayMs = 1_000
/** Visits of one transaction, for which other writers wait. */
const batchSize = 8_000
/** Characters of their headers, which take the event loop some milliseconds to pack: 8 000 usual visits have no more. */
const maxCharacters = 2_000_000
/** How many visits may wait to be written: some 50 MB of usual ones, four times as much of the longest. */
const maxVisits = 100_000
/** How many counts of clicks may wait whose visits have been given up: some 50 MB. */
const maxCounts = 300_000
/** How often a batch is tried that fails although the database is there. */
const maxAttempts = 5
/** How often a stop tries to write. */
const lastAttempts = 5
const hourMs = 3_600_000

export interface RecorderOptions {
  /** How many visits, and how many counts without visits, may wait to be written. */
  readonly maxVisits?: number
  readonly maxCounts?: number
}

/** A batch that may have been sent and written: it is sent again as it is. */
interface Batch {
  readonly visits: readonly Visit[]
  /** 0 before it is first sent: batches are numbered in the order in which they are sent. */
  number: number
  attempts: number
}

/**
 * Takes visits down in memory and has them written in the background. While the database is away they wait: when there are
 * too many, the oldest are reduced to counts of clicks, and only when there are too many of these, clicks are lost. A click
 * is never written twice.
 */
export class ClickRecorder {
  readonly #writer: Pick<ClickWriter, 'write' | 'take' | 'forget' | 'close'>
  readonly #onProblem: (error: unknown) => void
  readonly #maxVisits: number
  readonly #maxCounts: number
  #visits: Visit[] = []
  /** By link, class and hour. */
  readonly #counts = new Map<string, Visit>()
  /** Batches that were taken from those that wait, the next one last. */
  #inHand: Batch[] = []
  #batches = 0
  #isAway = false
  #isTold = false
  #isClosed = false
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()
  readonly #seen = { person: 0, bot: 0, preview: 0 }
  #reduced = 0
  #lost = 0
  readonly meters: readonly Meter[] = [
    { name: 'people', help: 'Clicks of people.', value: () => this.#seen.person },
    { name: 'bots', help: 'Clicks of bots.', value: () => this.#seen.bot },
    { name: 'previews', help: 'Clicks of link previews.', value: () => this.#seen.preview },
    { name: 'unwritten', help: 'Clicks that are not written yet, or counts of them.', value: () => this.#held },
    { name: 'batches', help: 'Batches of clicks that were written.', value: () => this.#batches },
    {
      name: 'reduced',
      help: 'Clicks that count without their break-down, because too many waited to be written.',
      value: () => this.#reduced,
    },
    { name: 'lost', help: 'Clicks that were not written, because far too many waited.', value: () => this.#lost },
  ]

  /** `onProblem` hears of the first failure of each outage. */
  constructor(
    writer: Pick<ClickWriter, 'write' | 'take' | 'forget' | 'close'>,
    onProblem: (error: unknown) => void,
    options: RecorderOptions = {},
  ) {
    this.#writer = writer
    this.#onProblem = onProblem
    this.#maxVisits = options.maxVisits ?? maxVisits
    this.#maxCounts = options.maxCounts ?? maxCounts
  }

  /** Counts a click. */
  count(visit: Visit): void {
    this.#seen[visit.class] += 1
    this.#visits.push(visit)
    if (this.#visits.length > this.#maxVisits) this.#reduce()
  }

  /**
   * Takes and counts one of the clicks that the link's limit has left; false if there is none. Throws
   * `database_unavailable`.
   */
  async take(visit: Visit): Promise<boolean> {
    const isTaken = await this.#writer.take(pack([visit]))
    if (isTaken) this.#seen[visit.class] += 1
    return isTaken
  }

  /**
   * Forgets the clicks of the account's link, those that wait to be written too; false if there is no such link. Throws
   * `database_unavailable`.
   */
  async forget(account: number, link: number): Promise<boolean> {
    await this.flush()
    return this.#writer.forget(account, link)
  }

  /** Begins to write. */
  begin(): void {
    this.#wait(everyMs)
  }

  /** Resolves once everything that was counted before is written, or the database has failed. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    const running = this.#running.then(() => this.#round())
    this.#running = running
    await running
    if (!this.#isClosed) this.#wait(everyMs)
  }

  /**
   * Writes everything that was counted before. Within seconds, also when the database is away: what it does not take by
   * then is lost.
   */
  async close(): Promise<void> {
    this.#isClosed = true
    for (let attempt = 1; this.#held > 0 && attempt <= lastAttempts; attempt++) {
      if (attempt > 1) await wait(everyMs)
      await this.flush()
    }
    clearTimeout(this.#timer)
    await this.#running
    await this.#writer.close()
  }

  /** Visits, and counts of them, that are not written yet. */
  get #held(): number {
    return this.#visits.length + this.#counts.size + this.#inHand.reduce((sum, { visits }) => sum + visits.length, 0)
  }

  #wait(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#running = this.#running.then(() => this.#round())
      void this.#running.then(() => {
        if (!this.#isClosed) this.#wait(this.#isAway ? awayMs : everyMs)
      })
    }, ms).unref()
  }

  /** Writes as much as is there now, until a batch fails. What comes meanwhile waits for the next round. */
  async #round(): Promise<void> {
    this.#isAway = false
    for (let left = this.#held; left > 0 && !this.#isAway; ) {
      if (this.#inHand.length === 0) this.#inHand.push(this.#nextBatch())
      const batch = this.#inHand.pop() as Batch
      left -= batch.visits.length
      await this.#write(batch)
    }
  }

  async #write(batch: Batch): Promise<void> {
    batch.attempts += 1
    if (batch.number === 0) batch.number = ++this.#batches
    try {
      await this.#writer.write(batch.number, pack(batch.visits))
      this.#isTold = false
    } catch (error) {
      if (!this.#isTold) this.#onProblem(error)
      this.#isTold = true
      if (error instanceof Failure || batch.attempts < maxAttempts) {
        this.#isAway = true
        this.#inHand.push(batch)
      } else this.#split(batch)
    }
  }

  /** A batch that always fails holds up no other: what fails alone is given up, and the rest is written. */
  #split({ visits }: Batch): void {
    if (visits.length === 1) {
      this.#lost += visits[0]?.count ?? 0
      return
    }
    const half = Math.ceil(visits.length / 2)
    for (const part of [visits.slice(half), visits.slice(0, half)]) {
      this.#inHand.push({ visits: part, number: 0, attempts: maxAttempts - 1 })
    }
  }

  /** The oldest that wait. */
  #nextBatch(): Batch {
    const counts = [...this.#counts].slice(0, batchSize)
    for (const [key] of counts) this.#counts.delete(key)
    const visits = this.#visits.splice(0, fitting(this.#visits, batchSize - counts.length))
    return { visits: [...counts.map(([, count]) => count), ...visits], number: 0, attempts: 0 }
  }

  /** Makes room: a tenth of the visits, the oldest, become counts. */
  #reduce(): void {
    for (const visit of this.#visits.splice(0, Math.ceil(this.#maxVisits / 10))) {
      const { link, class: of, atMs } = visit
      const key = `${link} ${of} ${Math.floor(atMs / hourMs)}`
      const known = this.#counts.get(key)
      if (known === undefined && this.#counts.size >= this.#maxCounts) this.#lost += 1
      else {
        this.#counts.set(key, { ...(known ?? reduced(visit)), atMs, count: (known?.count ?? 0) + 1 })
        this.#reduced += 1
      }
    }
  }
}

/** How many of the first `most` visits a batch takes: one at least, if there are any. */
function fitting(visits: readonly Visit[], most: number): number {
  let [fit, characters] = [0, 0]
  for (const { address, userAgent, referrer, languages, country } of visits) {
    if (fit === most || characters >= maxCharacters) break
    fit += 1
    characters += address.length + userAgent.length + referrer.length + languages.length + country.length
  }
  return fit
}

/** A visit without what tells it from others. */
function reduced(visit: Visit): Visit {
  const nothing = { address: '', host: '', userAgent: '', referrer: '', languages: '', country: '' }
  return { ...visit, ...nothing, isPrivate: true }
}
