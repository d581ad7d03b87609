import { setImmediate as nextTick, setTimeout as wait } from 'node:timers/promises'
import { hourMs, toUtcDay } from '../accounts/calendar.ts'
import { Failure } from '../errors.ts'
import { Periodic } from '../lib/periodic.ts'
import type { Meter } from '../storage/port.ts'
import type { Visit } from './capture/visit.ts'
import type { ClickWorker, OnProblem } from './click-worker.ts'

/**
 * The time from the start of a round to the start of the next, and the pause after a round that failed. Milliseconds. On a
 * busy machine, a round may wait as long for the write lock, and a kill may lose only the clicks of the last second.
 */
const [everyMs, retryMs] = [250, 1_000]
/** Visits per transaction, which other writers wait for, and per message to the thread: see `maxCharacters`. */
const batchSize = 3_000
/** Pending visits that are sorted by link and split into batches together. Sorting them takes 5 ms of the event loop. */
const windowSize = 8 * batchSize
/** Changed link days per transaction. Each takes 0.1 ms, 0.2 ms with 3.5 KB of JSON, and 1.5 ms if it is full. */
const maxDays = 1_000
/** Hours of all time zones start at a multiple of this. Milliseconds. */
const mergedMs = hourMs / 4
/**
 * Characters of headers per batch; 2,800 usual visits have as many. Cloning them for the thread takes about 3 ms of the
 * event loop, and twice as much on a busy machine. It must stay far below 20 ms.
 */
const maxCharacters = 600_000
const defaultLimits = {
  /** Pending visits: about 50 MB of usual ones, four times as much of the longest. */
  maxVisits: 100_000,
  /** Pending counts of merged visits: about 50 MB. */
  maxCounts: 300_000,
}
/** Attempts to write a batch that fails although the database is available, or that the thread dies of. */
const maxFailures = 5
/** Attempts to write everything before a stop, and the pause between them. Milliseconds. */
const [lastAttempts, lastPauseMs] = [5, 300]
/** How long a stop waits for the next batch to be written. Milliseconds. */
const closeMs = 6_000

/** The log message of an outage. */
const waiting = 'clicks are pending, because the database is unavailable'

/** Visits that are written together. A batch that may have been written is sent again unchanged. */
interface Batch {
  readonly visits: readonly Visit[]
  /** 0 before the first attempt. Batches are numbered in the order of their first attempts. */
  number: number
  /** See `maxFailures`. */
  failures: number
}

/**
 * Queues visits in memory and writes them in the background. They wait while the database is unavailable. If too many
 * wait, the oldest are merged to counts by link, class and quarter of an hour. If there are too many counts, clicks are
 * lost. No click is written twice.
 */
export class ClickQueue {
  readonly #worker: Pick<ClickWorker, 'write' | 'take'>
  readonly #onProblem: OnProblem
  readonly #limits: typeof defaultLimits
  readonly #rounds: Periodic
  readonly #visits: Visit[] = []
  readonly #counts = new Map<string, Visit>()
  /** Batches that were taken from the queue. The last one is written next. */
  readonly #batches: Batch[] = []
  #sent = 0
  #isReported = false
  readonly #seen = { person: 0, bot: 0, preview: 0 }
  #merged = 0
  #lost = 0
  /** Clicks that can't be written, since the last report. */
  #failed = 0
  #lastError: unknown
  /** The timer of `close`. */
  #deadline: NodeJS.Timeout | undefined
  readonly meters: readonly Meter[] = [
    { name: 'people_total', help: 'Human clicks since the start.', value: () => this.#seen.person },
    { name: 'bots_total', help: 'Bot clicks since the start.', value: () => this.#seen.bot },
    { name: 'previews_total', help: 'Link preview clicks since the start.', value: () => this.#seen.preview },
    {
      name: 'unwritten',
      help: 'Clicks, or counts of clicks, that are not yet in the database.',
      value: () => this.#pending,
    },
    { name: 'batches_total', help: 'Batches written since the start.', value: () => this.#sent },
    {
      name: 'reduced_total',
      help: 'Clicks since the start that count without their breakdown, because too many were pending.',
      value: () => this.#merged,
    },
    {
      name: 'lost_total',
      help: 'Clicks lost since the start, because far too many were pending.',
      value: () => this.#lost,
    },
  ]

  /** `onProblem` gets the first error of each outage, and the number of lost clicks. */
  constructor(
    worker: Pick<ClickWorker, 'write' | 'take'>,
    onProblem: OnProblem,
    limits: Partial<typeof defaultLimits> = {},
  ) {
    this.#worker = worker
    this.#onProblem = onProblem
    this.#limits = { ...defaultLimits, ...limits }
    const onError = (error: unknown) => onProblem(error, waiting)
    this.#rounds = new Periodic(() => this.#round(), { everyMs, onError })
  }

  /** Queues a visit. */
  add(visit: Visit): void {
    this.#seen[visit.class] += 1
    this.#visits.push(visit)
    if (this.#visits.length > this.#limits.maxVisits) this.#merge()
  }

  /** See `ClickWorker.take`. */
  async take(visit: Visit): Promise<boolean> {
    const isTaken = await this.#worker.take(visit)
    if (isTaken) this.#seen[visit.class] += 1
    return isTaken
  }

  /** Starts writing. */
  start(): void {
    this.#rounds.start()
  }

  /** Resolves when all visits that were added before are written, or the database has failed. */
  flush(): Promise<void> {
    return this.#rounds.run()
  }

  /** Writes all visits. Drops and reports the rest after several failures, or if nothing is written for `closeMs`. */
  async close(): Promise<void> {
    const { promise: isLate, resolve } = Promise.withResolvers<void>()
    this.#deadline = setTimeout(resolve, closeMs)
    await Promise.race([this.#writeAll(), isLate])
    clearTimeout(this.#deadline)
    void this.#rounds.close()
    if (this.#pending > 0) {
      const error = new Error('The database stored no more clicks in time.')
      this.#onProblem(error, `clicks were not written before the stop: ${this.#pending}`, 'error')
    }
  }

  async #writeAll(): Promise<void> {
    await this.flush()
    for (let attempt = 2; this.#pending > 0 && attempt <= lastAttempts; attempt++) {
      await wait(lastPauseMs)
      await this.flush()
    }
  }

  /** The number of unwritten visits and counts, including the current batch. */
  get #pending(): number {
    return this.#visits.length + this.#counts.size + this.#batches.reduce((sum, { visits }) => sum + visits.length, 0)
  }

  /** Writes all pending visits, one batch after another without a pause, until one fails. */
  async #round(): Promise<void> {
    const start = performance.now()
    let isAway = false
    for (let left = this.#pending; left > 0; ) {
      const done = await this.#write(this.#batches.at(-1) ?? this.#nextBatch())
      isAway = done === null
      if (done === null) break
      // Merging leaves fewer visits than there were.
      left = Math.min(left - done, this.#pending)
      // One tick never clones two batches.
      await nextTick()
    }
    // Visits that arrived during a long round have waited for its end, so they don't wait for a whole pause, too.
    this.#rounds.runIn(isAway ? retryMs : Math.max(0, everyMs - (performance.now() - start)))
    if (this.#failed === 0) return
    this.#onProblem(this.#lastError, `clicks were lost, because they can't be written: ${this.#failed}`, 'error')
    this.#failed = 0
  }

  /** Writes the last batch. Returns the number of visits that are finished, or null if writing has to pause. */
  async #write(batch: Batch): Promise<number | null> {
    if (batch.number === 0) batch.number = ++this.#sent
    // A failed attempt may have stored the visits. Otherwise an empty batch takes the number, before parts get others.
    const isGivenUp = batch.failures >= maxFailures
    try {
      const isNew = await this.#worker.write(batch.number, isGivenUp ? [] : batch.visits)
      this.#batches.pop()
      this.#deadline?.refresh()
      if (isGivenUp && isNew) return this.#split(batch)
      this.#isReported = false
      return batch.visits.length
    } catch (error) {
      this.#lastError = error
      if (!this.#isReported) this.#onProblem(error, waiting)
      this.#isReported = true
      if (error instanceof Failure) return null
      batch.failures += 1
      return batch.failures === maxFailures ? 0 : null
    }
  }

  /** Splits a batch that always fails, so that only the visits that cause the error are lost. See `#write`. */
  #split({ visits }: Batch): number {
    if (visits.length === 1) {
      this.#lost += visits[0]?.count ?? 0
      this.#failed += visits[0]?.count ?? 0
      return 1
    }
    const half = Math.ceil(visits.length / 2)
    // Each part gets one attempt. The first part is the last batch, so it is written next.
    for (const part of [visits.slice(half), visits.slice(0, half)]) {
      this.#batches.push({ visits: part, number: 0, failures: maxFailures - 1 })
    }
    return 0
  }

  /**
   * Moves the oldest counts and visits to new batches. Returns the first one. A link's visits stay together as far as
   * possible, because each batch reads and writes a row for each link: half of a busy thread's work.
   */
  #nextBatch(): Batch {
    const counts = [...this.#counts.entries().take(windowSize)]
    for (const [key] of counts) this.#counts.delete(key)
    const visits = [...counts.map(([, count]) => count), ...this.#visits.splice(0, windowSize - counts.length)]
    const batches = splitByLink(visits).map((part) => ({ visits: part, number: 0, failures: 0 }))
    this.#batches.push(...batches.toReversed())
    return batches[0] as Batch
  }

  /** Merges the oldest hundredth of the visits. More would block the event loop for too long. */
  #merge(): void {
    for (const visit of this.#visits.splice(0, Math.ceil(this.#limits.maxVisits / 100))) {
      const key = `${visit.link} ${visit.addressId} ${visit.class} ${Math.floor(visit.atMs / mergedMs)}`
      const known = this.#counts.get(key)
      if (known === undefined && this.#counts.size >= this.#limits.maxCounts) this.#lost += 1
      else {
        this.#counts.set(key, { ...(known ?? withoutFacts(visit)), atMs: visit.atMs, count: (known?.count ?? 0) + 1 })
        this.#merged += 1
      }
    }
  }
}

/** Splits visits into parts that fit into a batch, ordered by link. */
function splitByLink(visits: readonly Visit[]): Visit[][] {
  // The sort is stable, so a link's visits stay in the order of their days.
  const sorted = visits.toSorted((a, b) => a.link - b.link)
  const parts: Visit[][] = []
  for (let from = 0; from < sorted.length; from += parts.at(-1)?.length ?? 0) {
    parts.push(sorted.slice(from, from + lengthOfBatch(sorted, from)))
  }
  return parts
}

/** Returns the number of visits from an index that fit into a batch. The visits are in the order of their links and days. */
function lengthOfBatch(visits: readonly Visit[], from: number): number {
  let [length, characters, days, lastLink, lastDay] = [0, 0, 0, -1, 0]
  for (let at = from; at < visits.length; at++) {
    const { link, atMs, ipAddress, userAgent, referrer, languages, country } = visits[at] as Visit
    const day = toUtcDay(atMs)
    if (link !== lastLink || day !== lastDay) days += 1
    if (length === batchSize || characters >= maxCharacters || days > maxDays) break
    ;[lastLink, lastDay] = [link, day]
    length += 1
    characters += ipAddress.length + userAgent.length + referrer.length + languages.length + country.length
  }
  return length
}

function withoutFacts(visit: Visit): Visit {
  return {
    ...visit,
    isPrivate: true,
    ipAddress: '',
    host: '',
    userAgent: '',
    referrer: '',
    languages: '',
    country: '',
    rule: null,
  }
}
