import { randomUUID } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import { type DatabaseTrouble, databaseUnavailable, overloaded } from '../errors.ts'
import { durations, Histogram } from '../lib/histogram.ts'
import type { StorageLocation } from '../storage/location.ts'
import type { Meter } from '../storage/port.ts'
import type { CountryFileReport } from './capture/country-file.ts'
import type { PackedVisits } from './capture/visit.ts'
import { measures, sinkMeters } from './sink/meters.ts'
import type { SinkConfig } from './sink/open.ts'

/** What the thread is made of. */
export interface WriterOptions {
  readonly location: StorageLocation
  /** The operator's country database; null for the bundled one. */
  readonly geoipDb: string | null
  /** Where raw clicks go, too; null: nowhere. */
  readonly clicksSink: SinkConfig | null
}

export interface ThreadOptions extends WriterOptions {
  /** Where the thread shows what the sink measures, in the order of `sinkMeters`. */
  readonly measured: Float64Array<SharedArrayBuffer>

  /** Names this process, whichever of its threads writes. */
  readonly writer: string
}

/** What the thread is asked for; null: to do what it was asked for before, and end. */
export type ToThread =
  | { readonly id: number; readonly work: 'start' }
  | { readonly id: number; readonly work: 'write'; readonly batch: number; readonly visits: PackedVisits }
  | { readonly id: number; readonly work: 'take'; readonly visits: PackedVisits }
  | { readonly id: number; readonly work: 'forget'; readonly account: number; readonly link: number }
  | ({ readonly id: number; readonly work: 'sweep' } & Bounds)
  | { readonly id: number; readonly work: 'drop'; readonly before: number }
  | null

/** Days since 1970-01-01: what is of earlier ones goes. */
export interface Bounds {
  readonly visitorsBefore: number
  readonly daysBefore: number
}

/** What became of it. `isDone`: whether there was a click to take, or a link to forget the clicks of. */
export interface FromThread {
  readonly id: number
  readonly isDone: boolean
  readonly error?: unknown
  /** Whether it may succeed later: the database is away. */
  readonly isAway?: boolean
  readonly reason?: DatabaseTrouble
  readonly countryFile?: CountryFileReport
  /** What an error of the sink means. */
  readonly sinkTrouble?: SinkTrouble
}

/** Raw clicks wait for the sink, a batch was dropped, or all are dropped because the spool cannot be opened. */
export type SinkTrouble = 'waiting' | 'dropped' | 'unusable spool'

/** Gets the first failure of each outage of the sink, and each batch that the spool dropped. */
export type OnSinkProblem = (error: unknown, trouble: SinkTrouble) => void

interface Waiting {
  readonly since: number
  readonly resolve: (isDone: boolean) => void
  readonly reject: (reason: unknown) => void
}

/** The id of a message about the sink, which nothing has asked for. */
export const ofSink = 0
/** The id of a message about the country database. */
export const ofCountryFile = -1

/** Takes that may wait: a second of them, and a little more. */
const maxWaiting = 1_000

/** A thread that has died is not started again sooner than this after it was started. */
const respawnMs = 1_000
/** How long the thread may take to end. Milliseconds. */
const endMs = 10_000
/** The country database is outside of it. */
const resourceLimits = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 8 }

/** Has clicks classified and written by a thread. If the thread dies, the next click starts another. */
export class ClickWriter {
  readonly #options: ThreadOptions
  readonly #onSinkProblem: OnSinkProblem
  readonly #onCountryFile: (report: CountryFileReport) => void
  readonly #waiting = new Map<number, Waiting>()
  readonly #seconds = new Histogram(durations)
  readonly meters: readonly Meter[] = [
    { name: 'write_seconds', help: 'Time until a batch of clicks is written.', value: this.#seconds },
  ]
  readonly sinkMeters: readonly Meter[]
  #worker: Worker | undefined
  #startedAt = Number.NEGATIVE_INFINITY
  #lastId = 0
  #closed: Promise<void> | undefined

  /** `onCountryFile`: see `openCountries`. */
  constructor(
    options: WriterOptions,
    onSinkProblem: OnSinkProblem,
    onCountryFile: (report: CountryFileReport) => void,
  ) {
    const measured = new Float64Array(new SharedArrayBuffer(measures * Float64Array.BYTES_PER_ELEMENT))
    this.#options = { ...options, writer: randomUUID(), measured }
    this.#onSinkProblem = onSinkProblem
    this.#onCountryFile = onCountryFile
    this.sinkMeters = options.clicksSink === null ? [] : sinkMeters((at) => measured[at] as number)
  }

  /** Starts the thread, unless it runs. Resolves once it can write clicks. Rejects with `database_unavailable`. */
  async start(): Promise<void> {
    await this.#ask({ work: 'start' })
  }

  /**
   * Writes a batch: visits as `pack` makes them. Whatever it rejects with, the same batch may be sent again: it is written
   * once.
   */
  async write(batch: number, visits: PackedVisits): Promise<void> {
    await this.#ask({ work: 'write', batch, visits })
  }

  /**
   * Takes one of the clicks that the limit of the visit's link has left, and writes it; false if there is none. Rejects with
   * `overloaded` if too many wait for theirs.
   */
  async take(visits: PackedVisits): Promise<boolean> {
    if (this.#waiting.size >= maxWaiting) throw overloaded('Too many visitors of links with a limit are waiting.')
    return this.#ask({ work: 'take', visits })
  }

  /** Forgets the clicks of the account's link; false if there is no such link. Rejects with `database_unavailable`. */
  forget(account: number, link: number): Promise<boolean> {
    return this.#ask({ work: 'forget', account, link })
  }

  /** Has the thread, if there is one, forget the salts of days before `before`. */
  async dropSalts(before: number): Promise<void> {
    if (this.#worker !== undefined) await this.#ask({ work: 'drop', before })
  }

  /** Does the upkeep that is due: see `chores.ts`. Rejects with `database_unavailable`. */
  async sweep(bounds: Bounds): Promise<void> {
    await this.#ask({ work: 'sweep', ...bounds })
  }

  /** Ends the thread once it has done what it was asked for. Idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  #ask(what: Unnumbered): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const worker = this.#started()
      const id = ++this.#lastId
      this.#waiting.set(id, { since: performance.now(), resolve, reject })
      worker.postMessage({ id, ...what } satisfies ToThread)
    })
  }

  async #end(): Promise<void> {
    const worker = this.#worker
    if (worker === undefined) return
    const ended = new Promise((resolve) => worker.once('exit', resolve))
    worker.postMessage(null satisfies ToThread)
    // A sink's file may never answer.
    const limit = setTimeout(() => void worker.terminate(), endMs)
    await ended
    clearTimeout(limit)
  }

  /** Throws `database_unavailable` when the thread was started less than a second ago and has died. */
  #started(): Worker {
    if (this.#closed !== undefined) throw databaseUnavailable(new Error('The thread that writes clicks is closed.'))
    if (this.#worker !== undefined) return this.#worker
    const now = performance.now()
    if (now - this.#startedAt < respawnMs) throw databaseUnavailable(new Error('The thread has just died.'))
    this.#startedAt = now
    this.#worker = this.#spawn()
    return this.#worker
  }

  #spawn(): Worker {
    const worker = new Worker(new URL('./thread.ts', import.meta.url), { workerData: this.#options, resourceLimits })
    worker.on('message', (message: FromThread) => this.#receive(message))
    let cause: unknown = new Error('The thread that writes clicks has ended.')
    worker.on('error', (error) => {
      cause = error
    })
    worker.on('exit', () => {
      this.#worker = undefined
      for (const id of this.#waiting.keys()) this.#settled(id)?.reject(databaseUnavailable(cause))
    })
    return worker
  }

  #receive({ id, isDone, error, isAway, reason, sinkTrouble, countryFile }: FromThread): void {
    if (sinkTrouble !== undefined) this.#onSinkProblem(error, sinkTrouble)
    if (countryFile !== undefined) this.#onCountryFile(countryFile)
    // Under `node --watch`, a worker's messages include some that are Node's own.
    const waiting = this.#settled(id)
    if (waiting === undefined) return
    if (error !== undefined) {
      waiting.reject(isAway === true ? databaseUnavailable(error, reason) : error)
      return
    }
    this.#seconds.add((performance.now() - waiting.since) / 1000)
    waiting.resolve(isDone)
  }

  #settled(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    return waiting
  }
}

type Unnumbered = NonNullable<ToThread> extends infer Each ? (Each extends unknown ? Omit<Each, 'id'> : never) : never
