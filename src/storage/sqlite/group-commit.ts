import { setTimeout as wait } from 'node:timers/promises'
import { type SelectModifierNode, SqliteQueryCompiler } from 'kysely'
import { databaseUnavailable } from '../../errors.ts'
import { durations, groupSizes, Histogram } from '../../lib/histogram.ts'
import { gather, requireRoom } from '../../lib/queue.ts'
import { createCompiler } from '../compiler.ts'
import { createTransaction, type Meter, type Transaction } from '../port.ts'
import { formatSql, type Sql } from '../sql-text.ts'
import { type Connection, isBusy, type SqlText } from './connection.ts'

/** The transactions of one commit. More would block the event loop for too long. */
const maxGroupSize = 128
/** How long a transaction waits for another process's write lock. Milliseconds. */
const maxLockMs = 5_000
const lockRetryMs = 1

const savepoint: SqlText = { sql: 'savepoint work', parameters: [] }
const release: SqlText = { sql: 'release work', parameters: [] }

interface QueuedWrite {
  /** Monotonic milliseconds. */
  readonly since: number
  readonly run: () => unknown
  /** SQLite itself reverts a single statement that fails (https://sqlite.org/lang_conflict.html). */
  readonly isSingleStatement: boolean
  readonly resolve: (value: unknown) => void
  readonly reject: (reason: unknown) => void
}

/**
 * Commits all waiting transactions together, because the disk flush of a commit costs far more than the statements. Each of
 * several transactions has its own savepoint, so its failure does not affect the others. Waiting for the lock of another process
 * does not block the event loop.
 */
export class GroupCommit {
  readonly #connection: Connection
  readonly #transaction: Transaction
  readonly #lockTimeoutMs: number
  readonly #seconds = new Histogram(durations)
  readonly #sizes = new Histogram(groupSizes)
  readonly meters: readonly Meter[] = [
    {
      name: 'commit_seconds',
      help: 'Duration of a commit: the wait for the lock, the statements and the flush to disk.',
      value: this.#seconds,
    },
    { name: 'commit_group_size', help: 'Number of transactions in a commit.', value: this.#sizes },
    { name: 'waiting_transactions', help: 'Transactions that wait for a commit.', value: () => this.#queue.length },
  ]
  #queue: QueuedWrite[] = []
  #running: Promise<void> | undefined
  /** The highest id of each table that the running commit has read or returned. */
  readonly #highestIds = new Map<string, number>()

  constructor(connection: Connection, lockTimeoutMs = maxLockMs) {
    this.#connection = connection
    this.#transaction = createTransaction(
      async (query) => connection.execute(compiledForSqlite(query)),
      async (table, count) => this.#newIds(table, count),
    )
    this.#lockTimeoutMs = lockTimeoutMs
  }

  /** See `Db.write`. Throws `overloaded` if too many transactions wait. */
  write<T>(work: (db: Transaction) => Promise<T>): Promise<T> {
    return this.#enqueue(() => work(this.#transaction), false)
  }

  /** Runs one statement on the connection, and returns its result after the commit. Throws like `write`. */
  writeOne<T>(run: () => T): Promise<T> {
    return this.#enqueue(run, true)
  }

  #enqueue<T>(run: () => T | Promise<T>, isSingleStatement: boolean): Promise<T> {
    return new Promise((resolve, reject) => {
      requireRoom(this.#queue.length)
      const since = performance.now()
      this.#queue.push({ since, run, isSingleStatement, resolve: resolve as (value: unknown) => void, reject })
      this.#running ??= this.#run()
    })
  }

  /** Resolves when no write waits or runs. */
  async drained(): Promise<void> {
    await this.#running
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      await gather(this.#queue, maxGroupSize)
      const group = this.#queue.splice(0, maxGroupSize)
      try {
        for (const settle of await this.#commit(group)) settle()
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    this.#running = undefined
  }

  /** Returns functions that settle the writes. Throws if the commit fails. */
  async #commit(group: readonly QueuedWrite[]): Promise<(() => void)[]> {
    const { database } = this.#connection
    const start = performance.now()
    // Time in the queue counts toward the lock timeout.
    await this.#begin((group[0]?.since ?? start) + this.#lockTimeoutMs)
    this.#highestIds.clear()
    try {
      const settled: (() => void)[] = []
      // A savepoint copies every page before it changes. If the only transaction fails, an empty one takes its place.
      const hasSavepoints = group.length > 1
      for (const write of group) settled.push(await this.#runOne(write, hasSavepoints))
      database.exec('commit')
      this.#seconds.add((performance.now() - start) / 1000)
      this.#sizes.add(group.length)
      return settled
    } catch (error) {
      if (database.isTransaction) database.exec('rollback')
      throw this.#connection.translated(error)
    }
  }

  /** Returns the ids after the highest one that a table has had, or that this commit has returned. */
  #newIds(table: string, count: number): number[] {
    const highest = this.#highestIds.get(table) ?? this.#readHighestId(table)
    this.#highestIds.set(table, highest + count)
    return Array.from({ length: count }, (_, at) => highest + 1 + at)
  }

  #readHighestId(table: string): number {
    const query = { sql: 'select seq from sqlite_sequence where name = ?', parameters: [table] }
    const [{ seq } = { seq: 0 }] = this.#connection.execute<{ seq: number }>(query)
    return seq
  }

  async #begin(deadline: number): Promise<void> {
    for (;;) {
      try {
        this.#connection.database.exec('begin immediate')
        return
      } catch (error) {
        if (!isBusy(error)) throw this.#connection.translated(error)
        if (performance.now() > deadline) throw databaseUnavailable(error)
      }
      await wait(lockRetryMs)
    }
  }

  /** Throws only if the error ended the transaction of the whole group, as a full disk does. */
  async #runOne({ run, isSingleStatement, resolve, reject }: QueuedWrite, hasSavepoints: boolean): Promise<() => void> {
    const { database } = this.#connection
    const needsSavepoint = hasSavepoints && !isSingleStatement
    try {
      if (needsSavepoint) this.#connection.execute(savepoint)
      const value = await run()
      if (needsSavepoint) this.#connection.execute(release)
      return () => resolve(value)
    } catch (error) {
      if (!database.isTransaction) throw error
      if (needsSavepoint) database.exec('rollback to work; release work')
      else if (!isSingleStatement) database.exec('rollback; begin')
      return () => reject(error)
    }
  }
}

const locks: ReadonlySet<string> = new Set(['ForUpdate', 'ForNoKeyUpdate', 'ForKeyShare', 'SkipLocked'])

/** SQLite may plan a query again for each execution if it sees a bare parameter, which takes as long as reading a page. */
const placeholder = () => '+?'

/** Ignores row locks, because SQLite has only one writer at a time. */
class Compiler extends SqliteQueryCompiler {
  protected override getCurrentParameterPlaceholder(): string {
    return placeholder()
  }

  protected override visitSelectModifier(node: SelectModifierNode): void {
    if (!locks.has(node.modifier ?? '')) super.visitSelectModifier(node)
  }
}

export const compiledForSqlite = createCompiler(new Compiler())

/** Returns the text and the parameters of a query. */
export function formatForSqlite(query: Sql): SqlText {
  return formatSql(query, placeholder)
}
