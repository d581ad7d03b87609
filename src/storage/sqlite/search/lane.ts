import { Worker } from 'node:worker_threads'
import { type DatabaseTrouble, databaseUnavailable, tooManySearches } from '../../../errors.ts'
import type { AnyListing } from '../../listing.ts'
import type { RawPage } from '../raw-page.ts'
import type { IndexedTables } from './index-file.ts'

/** What a reader thread is started with. */
export interface ReaderOptions {
  /** `index` keeps the search index and answers from it; `scan` answers what takes a walk over many records. */
  readonly kind: 'index' | 'scan'
  readonly databasePath: string
  readonly tables: IndexedTables
}

/** A question; or null: answer what was asked before, then end. */
export type ToReader = { readonly id: number; readonly listing: AnyListing } | null

export type FromReader =
  /** `page` is null when the other lane has to answer. */
  | { readonly kind: 'answer'; readonly id: number; readonly page: RawPage | null }
  | { readonly kind: 'failed'; readonly id: number; readonly error: unknown; readonly reason?: DatabaseTrouble }
  /** The search changes up to `seq` are in the index, durably. */
  | { readonly kind: 'indexed'; readonly seq: number }
  /** The index could not be used; searches are slower until it can. */
  | { readonly kind: 'problem'; readonly error: unknown }

/** Questions that may wait for one thread; more are refused. */
const maxWaiting = 256
/** A thread that has died is not started again sooner than this after it was started. */
const respawnMs = 1_000
/** How long a closing thread may take for what it is doing. */
const closingMs = 1_000
/** How much the isolate of a thread may grow: its work is done by SQLite, outside of it. */
const resourceLimits = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 }

interface Waiting {
  readonly resolve: (page: RawPage | null) => void
  readonly reject: (reason: unknown) => void
}

/** One reader thread, started when it is needed and started again when it has died, with the questions it owes. */
export class Lane {
  readonly #options: ReaderOptions
  readonly #onNotice: (notice: Extract<FromReader, { kind: 'indexed' | 'problem' }>) => void
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | undefined
  #startedAt = Number.NEGATIVE_INFINITY
  #lastId = 0
  #closed: Promise<void> | undefined

  constructor(
    options: ReaderOptions,
    onNotice: (notice: Extract<FromReader, { kind: 'indexed' | 'problem' }>) => void,
  ) {
    this.#options = options
    this.#onNotice = onNotice
  }

  /** Starts the thread unless it runs. Throws `database_unavailable` when it was started less than a second ago. */
  start(): void {
    if (this.#closed !== undefined) throw databaseUnavailable(new Error('The reader threads are closed.'))
    if (this.#worker !== undefined) return
    const now = performance.now()
    if (now - this.#startedAt < respawnMs) throw databaseUnavailable(new Error('The reader thread has just died.'))
    this.#startedAt = now
    this.#worker = this.#spawn()
  }

  /** Resolves to null when the other lane has to answer. Throws `overloaded` and `database_unavailable`. */
  ask(listing: AnyListing): Promise<RawPage | null> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.size >= maxWaiting) throw tooManySearches()
      this.start()
      const id = ++this.#lastId
      this.#waiting.set(id, { resolve, reject })
      this.#worker?.postMessage({ id, listing } satisfies ToReader)
    })
  }

  /** Ends the thread after the questions it was asked, or after a second. Idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  async #end(): Promise<void> {
    const worker = this.#worker
    if (worker === undefined) return
    const ended = new Promise((resolve) => worker.once('exit', resolve))
    worker.postMessage(null satisfies ToReader)
    const impatient = setTimeout(() => void worker.terminate(), closingMs)
    await ended
    clearTimeout(impatient)
  }

  #spawn(): Worker {
    const worker = new Worker(new URL('./thread.ts', import.meta.url), { workerData: this.#options, resourceLimits })
    let reason: unknown = new Error('The reader thread ended.')
    worker.on('message', (message: FromReader) => this.#receive(message))
    worker.on('error', (error) => {
      reason = error
    })
    worker.on('exit', () => {
      this.#worker = undefined
      for (const id of this.#waiting.keys()) this.#settle(id)?.reject(databaseUnavailable(reason))
    })
    return worker
  }

  #receive(message: FromReader): void {
    if (message.kind === 'answer') this.#settle(message.id)?.resolve(message.page)
    else if (message.kind === 'failed')
      this.#settle(message.id)?.reject(databaseUnavailable(message.error, message.reason))
    // Under `node --watch`, a worker's messages include some that are Node's own.
    else if (message.kind !== undefined) this.#onNotice(message)
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    return waiting
  }
}
