import type { ClientBase } from 'pg'
import { databaseUnavailable } from '../../errors.ts'
import { isReadOnly } from './errors.ts'
import type { Pool } from './pool.ts'
import { runText } from './run.ts'

/**
 * How long a read-only database counts as read-only without another check. Each check that finds it read-only costs the
 * server a new connection, and health checks need no key. Milliseconds.
 */
const lifetimeMs = 1_000

/**
 * Finds out whether the database rejects writes: it is a standby, or its transactions are read-only by default. Callers
 * share one check at a time.
 */
export class ReadOnlyCheck {
  readonly #pool: Pool
  #running: Promise<boolean> | undefined
  /** By `performance.now()`. */
  #readOnlyUntil = Number.NEGATIVE_INFINITY

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** Returns true if the database is read-only, or was within the last second. Throws `database_unavailable`. */
  async isReadOnly(): Promise<boolean> {
    if (performance.now() < this.#readOnlyUntil) return true
    this.#running ??= this.#check().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #check(): Promise<boolean> {
    try {
      await this.#pool.with(checkWritable)
      return false
    } catch (error) {
      if (!isReadOnly(error)) throw error
      this.#readOnlyUntil = performance.now() + lifetimeMs
      return true
    }
  }
}

/** Throws the error of a write on a read-only database. The pool then replaces the connection: see `isBroken`. */
async function checkWritable(client: ClientBase): Promise<void> {
  const [row] = await runText(client, `select current_setting('transaction_read_only')::boolean`, [])
  if (row?.[0] === true) throw databaseUnavailable(undefined, 'read_only')
}
