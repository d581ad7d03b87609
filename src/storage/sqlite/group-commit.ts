import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { setImmediate as endOfTurn, setTimeout as wait } from 'node:timers/promises'
import { databaseUnavailable, tooManyWrites } from '../../errors.ts'
import { durations, groupSizes, Histogram } from '../../lib/histogram.ts'
import type { Db, Meter } from '../port.ts'
import type { Connection } from './connection.ts'
import { isBusy } from './errors.ts'

/** Transactions that one commit takes at most, so that a flood of writes cannot hold the event loop. */
const groupSize = 128
/** Transactions that may wait; more are refused rather than kept in memory. */
const maxQueueLength = 10_000
/** How long a transaction waits for another process's write lock. Milliseconds. */
const maxLockMs = 5_000
const lockRetryMs = 2

interface Waiting {
  /** On the monotonic clock. */
  readonly since: number
  readonly work: Work
  readonly resolve: (value: unknown) => void
  readonly reject: (reason: unknown) => void
}

/**
 * A transaction; or one statement, which SQLite itself undoes when it fails (https://sqlite.org/lang_conflict.html).
 */
type Work = { readonly transaction: (db: Db) => Promise<unknown> } | { readonly statement: () => unknown }

type Outcome = { value: unknown } | { reason: unknown }

/**
 * Commits together all transactions that turns of the event loop bring without a pause, since the disk flush of a
 * commit costs far more than the statements. Each fails alone: it has a savepoint of its own unless it is one
 * statement. Callers hear of success or failure once the commit is on the disk. Waiting for the lock of another process
 * does not block the event loop.
 */
export class GroupCommit {
  readonly #connection: Connection
  readonly #transaction: Db
  readonly #lockTimeoutMs: number
  readonly #steps: Steps
  readonly #seconds = new Histogram(durations)
  readonly #sizes = new Histogram(groupSizes)
  readonly meters: readonly Meter[] = [
    {
      name: 'commit_seconds',
      help: 'Time of one commit: waiting for the lock, the statements of its transactions, the flush to the disk.',
      value: this.#seconds,
    },
    { name: 'commit_group_size', help: 'Transactions that shared a commit.', value: this.#sizes },
    { name: 'waiting_transactions', help: 'Transactions that wait for a commit.', value: () => this.#waiting.length },
  ]
  #waiting: Waiting[] = []
  #running: Promise<void> | undefined

  /** `transaction` is the `Db` that works are given. */
  constructor(connection: Connection, transaction: Db, lockTimeoutMs = maxLockMs) {
    this.#connection = connection
    this.#transaction = transaction
    this.#lockTimeoutMs = lockTimeoutMs
    this.#steps = prepareSteps(connection.database)
  }

  /** See `Db.write`. Throws `overloaded` when too many transactions wait. */
  write<T>(work: (db: Db) => Promise<T>): Promise<T> {
    return this.#queue<T>({ transaction: work })
  }

  /** See `Db.writeOne`; `run` runs the statement, on the connection. Throws like `write`. */
  writeOne<T>(run: () => T): Promise<T> {
    return this.#queue<T>({ statement: run })
  }

  #queue<T>(work: Work): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length >= maxQueueLength) throw tooManyWrites()
      this.#waiting.push({ since: performance.now(), work, resolve: resolve as (value: unknown) => void, reject })
      this.#running ??= this.#run()
    })
  }

  /** Resolves when no write waits or runs. */
  async drained(): Promise<void> {
    await this.#running
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#gathered()
      const group = this.#waiting.splice(0, groupSize)
      try {
        settle(group, await this.#commit(group))
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    this.#running = undefined
  }

  /** Resolves after the first turn of the event loop that brought no more, or when the group is full. */
  async #gathered(): Promise<void> {
    let before: number
    do {
      before = this.#waiting.length
      await endOfTurn()
    } while (before < this.#waiting.length && this.#waiting.length < groupSize)
  }

  async #commit(group: readonly Waiting[]): Promise<Outcome[]> {
    const { database } = this.#connection
    const start = performance.now()
    await this.#begin(group)
    try {
      const outcomes: Outcome[] = []
      for (const { work } of group) {
        outcomes.push('statement' in work ? this.#atomic(work.statement) : await this.#alone(work.transaction))
      }
      this.#steps.commit.run()
      this.#seconds.add((performance.now() - start) / 1000)
      this.#sizes.add(group.length)
      return outcomes
    } catch (error) {
      if (database.isTransaction) database.exec('rollback')
      throw this.#connection.translated(error)
    }
  }

  /** The whole group waits for the lock only as long as its oldest transaction may: time in the queue counts. */
  async #begin([oldest]: readonly Waiting[]): Promise<void> {
    const deadline = (oldest?.since ?? 0) + this.#lockTimeoutMs
    for (;;) {
      try {
        this.#steps.begin.run()
        return
      } catch (error) {
        if (!isBusy(error)) throw this.#connection.translated(error)
        if (performance.now() > deadline) throw databaseUnavailable(error)
      }
      await wait(lockRetryMs)
    }
  }

  /** Runs one statement. Throws only when the whole transaction is lost, such as on a full disk. */
  #atomic(statement: () => unknown): Outcome {
    try {
      return { value: statement() }
    } catch (reason) {
      if (!this.#connection.database.isTransaction) throw reason
      return { reason }
    }
  }

  /** Runs one transaction in a savepoint. Throws like `#atomic`. */
  async #alone(work: (db: Db) => Promise<unknown>): Promise<Outcome> {
    const { database } = this.#connection
    this.#steps.savepoint.run()
    try {
      const value = await work(this.#transaction)
      this.#steps.release.run()
      return { value }
    } catch (reason) {
      if (!database.isTransaction) throw reason
      this.#steps.undo.run()
      this.#steps.release.run()
      return { reason }
    }
  }
}

type Steps = Record<'begin' | 'savepoint' | 'release' | 'undo' | 'commit', StatementSync>

function prepareSteps(database: DatabaseSync): Steps {
  return {
    begin: database.prepare('begin immediate'),
    savepoint: database.prepare('savepoint work'),
    release: database.prepare('release work'),
    undo: database.prepare('rollback to work'),
    commit: database.prepare('commit'),
  }
}

function settle(group: readonly Waiting[], outcomes: readonly Outcome[]): void {
  group.forEach(({ resolve, reject }, index) => {
    const outcome = outcomes[index] as Outcome
    if ('value' in outcome) resolve(outcome.value)
    else reject(outcome.reason)
  })
}
