import { type DatabaseTrouble, databaseUnavailable, type Failure, tooManySearches } from '../../errors.ts'
import { durations, Histogram } from '../../lib/histogram.ts'
import { Semaphore } from '../../lib/semaphore.ts'
import { WorkerClient } from '../../lib/worker-client.ts'
import type { Meter } from '../port.ts'
import type { SqlText } from './connection.ts'
import type { IndexedTables } from './search.ts'

/** What a reader thread is started with. */
export interface ReaderOptions {
  readonly path: string
  /** The tables that the thread indexes; null if another one does. */
  readonly indexed: IndexedTables | null
}

/** An error on its way from a thread. */
export interface SentError {
  readonly message: string
  readonly reason?: DatabaseTrouble | undefined
}

/** Queries that one thread has at a time, so that it never waits for the event loop. */
const concurrency = 2
/** Queries that may wait for one thread. */
const maxQueue = 254
/** Queries of one account that may wait for one thread, so that an account cannot fill the queue. */
const maxQueuePerKey = 32
/** How long a closing thread may take for the queries that it has. Milliseconds. */
const closeMs = 1_000
/** SQLite works outside of the thread's heap. */
const resourceLimits = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 }

type ReaderClient = WorkerClient<SqlText, Readonly<Record<string, unknown>>[], SentError>

interface Reader {
  readonly client: ReaderClient
  readonly semaphore: Semaphore
}

/**
 * Threads that run long queries, so that these do not block the event loop: one for searches, one for scans, which also
 * keeps the search index up to date. A query sees every write that was committed before it.
 */
export class Readers {
  readonly #search: Reader
  readonly #scan: Reader
  readonly #seconds = new Histogram(durations)
  readonly meters: readonly Meter[] = [
    {
      name: 'thread_seconds',
      help: 'Time from the question to the answer of a search or a deep page, which threads of their own read.',
      value: this.#seconds,
    },
  ]

  /** `onProblem` gets each error of indexing once. */
  constructor(path: string, tables: IndexedTables, onProblem: (error: unknown) => void) {
    const reported = new Set<string>()
    const onNotice = ({ message }: SentError) => {
      if (!reported.has(message)) onProblem(new Error(`The search index lacks new records: ${message}`))
      reported.add(message)
    }
    this.#search = createReader({ path, indexed: null }, onNotice)
    this.#scan = createReader({ path, indexed: tables }, onNotice)
  }

  /** Starts to index. Otherwise that begins with the first scan. Throws `database_unavailable`. */
  start(): void {
    this.#scan.client.start()
  }

  /**
   * Runs a query of the account. Accounts take turns, so that one of them can't delay the others by more than a query. Throws
   * `overloaded` if too many queries wait, and `database_unavailable`.
   */
  async select(
    cost: 'search' | 'scan',
    { sql, parameters }: SqlText,
    account: number,
  ): Promise<Readonly<Record<string, unknown>>[]> {
    const { client, semaphore } = cost === 'search' ? this.#search : this.#scan
    const start = performance.now()
    const rows = await semaphore.run(() => client.request({ sql, parameters }), String(account))
    this.#seconds.add((performance.now() - start) / 1000)
    return rows
  }

  /** Lets the threads finish their queries, for a second at most. Idempotent. */
  async close(): Promise<void> {
    await Promise.all([this.#search.client.close(), this.#scan.client.close()])
  }
}

function createReader(options: ReaderOptions, onNotice: (notice: SentError) => void): Reader {
  const client: ReaderClient = new WorkerClient({
    module: new URL('./reader-thread.ts', import.meta.url),
    workerData: options,
    resourceLimits,
    closeMs,
    unavailable: databaseUnavailable,
    toError: (sent) => toFailure(sent as SentError),
    onNotice,
  })
  return { client, semaphore: new Semaphore({ concurrency, maxQueue, maxQueuePerKey, rejection: tooManySearches }) }
}

function toFailure({ message, reason }: SentError): Failure {
  return databaseUnavailable(new Error(message), reason)
}
