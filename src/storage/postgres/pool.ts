import { setTimeout as wait } from 'node:timers/promises'
import pg, { type PoolClient } from 'pg'
import { databaseUnavailable } from '../../errors.ts'
import { durations, Histogram } from '../../histogram.ts'
import type { Meter } from '../port.ts'
import { isBroken } from './errors.ts'
import { PacketClient } from './packet-client.ts'

/** The server ends a statement that runs longer. Milliseconds. */
const statementTimeoutMs = 2_500
/** Limit on making a connection, and on waiting for one of the pool. Milliseconds. */
const connectTimeoutMs = 1_500
/**
 * A connection on which an answer takes longer is given up. With the wait for a connection before, this bounds what a
 * server that falls silent costs a request: 4.5 s. Milliseconds.
 */
const answerTimeoutMs = statementTimeoutMs + 500
/** A connection that is idle for longer is closed. Milliseconds. */
const idleMs = 60_000
/**
 * When the kernel begins to probe an idle connection, once a second; after ten misses the connection is gone.
 * Milliseconds.
 */
const keepAliveMs = 10_000

/** For work that takes as long as it takes. `pg` would not send 0, and a limit of the role or the database would apply. */
export const unlimited = { statement_timeout: 2_147_483_647, query_timeout: 0 }

/** A connection of the pool. */
export type Connection = PoolClient & PacketClient

/** Connections to one server: opened when needed, replaced when they break. */
export class Pool {
  readonly #pool: pg.Pool
  readonly #seconds = new Histogram(durations)
  readonly meters: readonly Meter[] = [
    {
      name: 'use_seconds',
      help: 'Time from asking for a connection to its last answer: that of a transaction, a search, or the reads or writes of one turn.',
      value: this.#seconds,
    },
    { name: 'connections', help: 'Connections that are open.', value: () => this.#pool.totalCount },
    { name: 'idle_connections', help: 'Connections that are not in use.', value: () => this.#pool.idleCount },
    {
      name: 'waiting_uses',
      help: 'Transactions, searches, and reads and writes of one turn that wait for a connection.',
      value: () => this.#pool.waitingCount,
    },
  ]

  /** Connects on first use; opens at most `size` connections. */
  constructor(url: string, size: number) {
    this.#pool = new pg.Pool({ ...settingsOf(url), Client: PacketClient, max: size, idleTimeoutMillis: idleMs })
    // The statements of a connection that breaks report it. Without a listener the error would end the process.
    this.#pool.on('connect', (client) => client.on('error', ignored))
    // An idle connection that breaks has left the pool by now.
    this.#pool.on('error', ignored)
  }

  /**
   * What `work` returns, given a connection of its own. Throws `database_unavailable` when none can be had, and what
   * `work` throws.
   */
  async with<T>(work: (client: Connection) => Promise<T>): Promise<T> {
    const start = performance.now()
    const client = await this.#connect()
    try {
      const result = await work(client)
      client.release()
      this.#seconds.add((performance.now() - start) / 1000)
      return result
    } catch (error) {
      client.release(isBroken(error))
      throw error
    }
  }

  /** Waits for the statements under way, then closes: after as long as an answer may take at the most. */
  async close(): Promise<void> {
    await Promise.race([this.#pool.end(), wait(answerTimeoutMs, undefined, { ref: false })])
  }

  async #connect(): Promise<Connection> {
    try {
      return (await this.#pool.connect()) as Connection
    } catch (error) {
      throw databaseUnavailable(error)
    }
  }
}

function ignored(): void {}

/** What a connection is opened with. */
export function settingsOf(url: string): pg.ClientConfig {
  return {
    connectionString: verifyingServer(url),
    types,
    application_name: 'waymark',
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    query_timeout: answerTimeoutMs,
    idle_in_transaction_session_timeout: answerTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
  }
}

/**
 * `pg` reads "require" and "verify-ca" as "verify-full", and warns at each start that it may stop doing so. Waymark keeps
 * "require", and has "verify-ca" skip only the host name, unless the operator sets `uselibpqcompat`.
 */
function verifyingServer(url: string): string {
  const parts = new URL(url)
  const { searchParams } = parts
  const mode = searchParams.get('sslmode')
  if ((mode !== 'require' && mode !== 'verify-ca') || searchParams.get('uselibpqcompat') === 'true') return url
  if (mode === 'require') searchParams.set('sslmode', 'verify-full')
  else searchParams.set('uselibpqcompat', 'true')
  return parts.href
}

const bigintType = 20

/** Ids and counts are numbers: they stay below 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (id, format) => (id === bigintType ? Number : pg.types.getTypeParser(id, format)),
}
