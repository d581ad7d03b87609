import { Worker } from 'node:worker_threads'
import { type DatabaseTrouble, databaseUnavailable } from '../../../errors.ts'
import { durations, Histogram } from '../../../histogram.ts'
import type { Clicks, Meter } from '../../port.ts'

/** A batch, by columns: they are handed over without a copy. Null: write what was sent before, then end. */
export type ToWriter = {
  readonly id: number
  readonly ids: Float64Array<ArrayBuffer>
  readonly clicks: Float64Array<ArrayBuffer>
  readonly times: Float64Array<ArrayBuffer>
} | null

/** What became of a batch: kept, unless there is an error. */
export interface FromWriter {
  readonly id: number
  readonly error?: unknown
  readonly reason?: DatabaseTrouble
}

interface Waiting {
  readonly since: number
  readonly resolve: (isKept: boolean) => void
  readonly reject: (reason: unknown) => void
}

/** A thread that has died is not started again sooner than this after it was started. */
const respawnMs = 1_000
/** How much the isolate of the thread may grow: its work is done by SQLite, outside of it. */
const resourceLimits = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 }

/** Writes clicks on a thread, which is started with the first of them and started again when it has died. */
export class ClickWriter {
  readonly #path: string
  readonly #waiting = new Map<number, Waiting>()
  readonly #seconds = new Histogram(durations)
  readonly meters: readonly Meter[] = [
    {
      name: 'clicks_seconds',
      help: 'Time until a batch of clicks is on the disk, which a thread of its own writes.',
      value: this.#seconds,
    },
  ]
  #worker: Worker | undefined
  #startedAt = Number.NEGATIVE_INFINITY
  #lastId = 0
  #closed: Promise<void> | undefined

  /** `path` is a file that has been migrated. */
  constructor(path: string) {
    this.#path = path
  }

  /** See `Storage.addClicks`. False when the thread died with the batch. */
  add(batch: readonly Clicks[]): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const worker = this.#started()
      const id = ++this.#lastId
      this.#waiting.set(id, { since: performance.now(), resolve, reject })
      const ids = Float64Array.from(batch, (each) => each.id)
      const clicks = Float64Array.from(batch, (each) => each.clicks)
      const times = Float64Array.from(batch, (each) => each.lastClickedAt)
      worker.postMessage({ id, ids, clicks, times } satisfies ToWriter, [ids.buffer, clicks.buffer, times.buffer])
    })
  }

  /** Ends the thread once it has written what it was sent. Idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  async #end(): Promise<void> {
    const worker = this.#worker
    if (worker === undefined) return
    const ended = new Promise((resolve) => worker.once('exit', resolve))
    worker.postMessage(null satisfies ToWriter)
    await ended
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
    const worker = new Worker(new URL('./thread.ts', import.meta.url), { workerData: this.#path, resourceLimits })
    worker.on('message', (message: FromWriter) => this.#receive(message))
    worker.on('error', () => undefined)
    worker.on('exit', () => {
      this.#worker = undefined
      for (const id of this.#waiting.keys()) this.#settled(id)?.resolve(false)
    })
    return worker
  }

  #receive({ id, error, reason }: FromWriter): void {
    // Under `node --watch`, a worker's messages include some that are Node's own.
    const waiting = this.#settled(id)
    if (waiting === undefined) return
    if (error !== undefined) {
      waiting.reject(databaseUnavailable(error, reason))
      return
    }
    this.#seconds.add((performance.now() - waiting.since) / 1000)
    waiting.resolve(true)
  }

  #settled(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    return waiting
  }
}
