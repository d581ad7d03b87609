import { tooManySearches } from '../../errors.ts'
import { durations, Histogram } from '../../lib/histogram.ts'
import { Semaphore } from '../../lib/semaphore.ts'
import { WorkerClient } from '../../lib/worker-client.ts'
import type { Meter, Values } from '../port.ts'
import type { SqlText } from './connection.ts'
import type { IndexedTables } from './search-index.ts'

/** The `workerData` of a reader thread. */
export interface ReaderOptions {
  readonly path: string
  /** The tables that the thread indexes; null if another one does. */
  readonly indexed: IndexedTables | null
}

/** Limits of one thread. It has two queries, so that it never waits for the event loop. An account cannot fill the queue. */
const limits = { concurrency: 2, maxQueue: 254, maxQueuePerKey: 32, rejection: tooManySearches }
/** How long a closing thread may take for the queries that it has. Milliseconds. */
const closeMs = 1_000
/** SQLite works outside of the thread's heap. */
const resourceLimits = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 }

interface Reader {
  readonly client: WorkerClient<SqlText, Values[], string>
  readonly semaphore: Semaphore
}

/** Two threads for long queries: for searches, and for scans and the search index. Queries see all earlier commits. */
export class Readers {
  readonly #search: Reader
  readonly #scan: Reader
  readonly #seconds = new Histogram(durations)
  readonly meters: readonly Meter[] = [
    {
      name: 'thread_seconds',
      help: 'Duration of searches and deep pages, which separate threads read.',
      value: this.#seconds,
    },
  ]

  /** `onProblem` gets each error of indexing once. */
  constructor(path: string, tables: IndexedTables, onProblem: (error: unknown) => void) {
    const reported = new Set<string>()
    const onNotice = (message: string) => {
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
   * Runs a query, and returns the rows' values. Accounts take turns. Throws `overloaded` if too many queries wait,
   * and `database_unavailable`.
   */
  async select(cost: 'search' | 'scan', { sql, parameters }: SqlText, account: number): Promise<Values[]> {
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

function createReader(options: ReaderOptions, onNotice: (message: string) => void): Reader {
  const client = new WorkerClient<SqlText, Values[], string>({
    module: new URL('./reader-thread.ts', import.meta.url),
    workerData: options,
    resourceLimits,
    closeMs,
    onNotice,
  })
  return { client, semaphore: new Semaphore(limits) }
}
