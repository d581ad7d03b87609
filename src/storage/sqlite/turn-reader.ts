import type { StatementSync } from 'node:sqlite'
import { durations, groupSizes, Histogram } from '../../lib/histogram.ts'
import type { Condition } from '../condition.ts'
import type { Meter } from '../port.ts'
import { Connection, openDatabase } from './connection.ts'

/** Reading never waits long: in WAL mode only a recovery after a crash holds readers up. */
const timeoutMs = 1_000

interface Waiting {
  readonly work: (connection: Connection) => unknown
  readonly resolve: (value: unknown) => void
  readonly reject: (reason: unknown) => void
}

/**
 * Reads on the event loop, with a connection that cannot write and so cannot see what is not committed. The reads that
 * one turn of the loop asks for run together at its end, in one transaction: taking and giving back SQLite's locks
 * costs twice as much as finding a record, and answers that leave together wake their reader once. They see
 * everything that was committed when they were asked for.
 */
export class TurnReader {
  readonly #connection: Connection
  readonly #begin: StatementSync
  readonly #end: StatementSync
  readonly #seconds = new Histogram(durations)
  readonly #sizes = new Histogram(groupSizes)
  readonly meters: readonly Meter[] = [
    {
      name: 'read_seconds',
      help: 'Time on the event loop of the reads of one turn, which run together.',
      value: this.#seconds,
    },
    { name: 'read_group_size', help: 'Reads that ran together.', value: this.#sizes },
  ]
  #waiting: Waiting[] = []
  #drained: (() => void) | undefined

  /** `condition` hears of what goes wrong. */
  constructor(path: string, condition?: Condition) {
    const database = openDatabase(path, timeoutMs, 'pragma query_only = on; pragma cache_size = -8000')
    this.#connection = new Connection(database, condition)
    this.#begin = database.prepare('begin')
    this.#end = database.prepare('commit')
  }

  /** What `work` returns. Rejects with what it throws, or with what `translated` makes of a failure to begin. */
  read<T>(work: (connection: Connection) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const waiting = { work, resolve: resolve as (value: unknown) => void, reject }
      if (this.#waiting.push(waiting) === 1) setImmediate(() => this.#run())
    })
  }

  /** Closes once what was asked for has been read. */
  async close(): Promise<void> {
    if (this.#waiting.length > 0) {
      await new Promise<void>((resolve) => {
        this.#drained = resolve
      })
    }
    this.#connection.database.close()
  }

  #run(): void {
    const group = this.#waiting
    const start = performance.now()
    this.#waiting = []
    try {
      this.#begin.run()
      for (const each of group) this.#settle(each)
      this.#commit()
    } catch (error) {
      const reason = this.#connection.translated(error)
      for (const { reject } of group) reject(reason)
    }
    this.#seconds.add((performance.now() - start) / 1000)
    this.#sizes.add(group.length)
    this.#drained?.()
  }

  #settle({ work, resolve, reject }: Waiting): void {
    try {
      resolve(work(this.#connection))
    } catch (error) {
      reject(error)
    }
  }

  #commit(): void {
    const { database } = this.#connection
    // Some errors of a read have ended the transaction already.
    if (!database.isTransaction) return
    try {
      this.#end.run()
    } catch {
      // After an error of the disk a transaction cannot be committed. The readers have been told.
      if (database.isTransaction) database.exec('rollback')
    }
  }
}
