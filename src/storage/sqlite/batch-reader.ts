import { durations, groupSizes, Histogram } from '../../lib/histogram.ts'
import type { Condition } from '../condition.ts'
import type { Meter } from '../port.ts'
import { Connection, openDatabase } from './connection.ts'

/** In WAL mode, readers only wait during a recovery after a crash. Milliseconds. */
const timeoutMs = 1_000

interface QueuedRead {
  /** Settles the promise of the read. */
  readonly run: () => void
  readonly reject: (reason: unknown) => void
}

/**
 * Reads committed data on the event loop. The reads of one tick run together at its end, in one transaction: SQLite's locks
 * would cost each of them 3 µs, a third of a read, and their responses leave together. Each read sees all data that was
 * committed before it was queued.
 */
export class BatchReader {
  readonly #connection: Connection
  readonly #seconds = new Histogram(durations)
  readonly #sizes = new Histogram(groupSizes)
  readonly meters: readonly Meter[] = [
    {
      name: 'read_seconds',
      help: 'Event-loop time of the reads that ran together in one tick.',
      value: this.#seconds,
    },
    { name: 'read_group_size', help: 'Number of reads that ran together.', value: this.#sizes },
  ]
  #queue: QueuedRead[] = []

  constructor(path: string, condition?: Condition) {
    const database = openDatabase(path, timeoutMs, 'pragma query_only = on; pragma cache_size = -8000')
    this.#connection = new Connection(database, condition)
  }

  /** Returns the result of `work`. Rejects with its error, or with the translated error of a transaction that can't start. */
  read<T>(work: (connection: Connection) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = () => {
        try {
          resolve(work(this.#connection))
        } catch (error) {
          reject(error)
        }
      }
      this.#queue.push({ run, reject })
      if (this.#queue.length === 1) setImmediate(() => this.#run())
    })
  }

  async close(): Promise<void> {
    await this.read(() => undefined).catch(() => undefined)
    this.#connection.database.close()
  }

  #run(): void {
    const { database } = this.#connection
    const queue = this.#queue
    const start = performance.now()
    this.#queue = []
    try {
      database.exec('begin')
      for (const { run } of queue) run()
      // Some errors of a read have already ended the transaction.
      if (database.isTransaction) database.exec('rollback')
    } catch (error) {
      const reason = this.#connection.translated(error)
      for (const { reject } of queue) reject(reason)
    }
    this.#seconds.add((performance.now() - start) / 1000)
    this.#sizes.add(queue.length)
  }
}
