import { setTimeout as wait } from 'node:timers/promises'
import pg, { type PoolClient } from 'pg'
import { databaseUnavailable } from '../../errors.ts'
import { durations, Histogram } from '../../lib/histogram.ts'
import type { Meter } from '../port.ts'
import { isBroken } from './errors.ts'

/** The server cancels a statement that runs longer. Milliseconds. */
const statementTimeoutMs = 2_500
/** Timeout of opening a connection, and of waiting for a free one, unless the URL has `connect_timeout`. Seconds. */
const connectTimeout = 1.5
/** A slower response ends its connection. A request to a silent server thus fails after 4.5 s. Milliseconds. */
const answerTimeoutMs = statementTimeoutMs + 500
/** A connection that is idle for longer is closed. Milliseconds. */
const idleMs = 60_000
/** The kernel probes a connection that is idle for longer, once a second. Ten failed probes close it. Milliseconds. */
const keepAliveMs = 10_000

/** Settings for work of any duration. `pg` does not send 0, and a limit of the role or the database would then apply. */
export const unlimited = { statement_timeout: 2_147_483_647, query_timeout: 0 }

/** A pool of connections to one server, which are opened when needed and replaced when they break. */
export class Pool {
  readonly #pool: pg.Pool
  readonly #seconds = new Histogram(durations)
  readonly meters: readonly Meter[] = [
    {
      name: 'use_seconds',
      help: 'Duration of a query, transaction or list, including the wait for a connection.',
      value: this.#seconds,
    },
    { name: 'connections', help: 'Open connections.', value: () => this.#pool.totalCount },
    { name: 'idle_connections', help: 'Idle connections.', value: () => this.#pool.idleCount },
    {
      name: 'waiting_uses',
      help: 'Queries, transactions and lists that wait for a connection.',
      value: () => this.#pool.waitingCount,
    },
  ]

  /** Connects on first use; opens at most `size` connections. The queries of a list are sent together, as a pipeline. */
  constructor(url: string, size: number) {
    this.#pool = new pg.Pool({ ...parseSettings(url), max: size, idleTimeoutMillis: idleMs, pipeline: true })
    // The queries of a broken connection report the error. Without a listener it would end the process.
    this.#pool.on('connect', (client) => client.on('error', () => undefined))
    // The pool has already removed the idle connection that broke.
    this.#pool.on('error', () => undefined)
  }

  /** Calls `work` with its own connection. Throws `database_unavailable` if none becomes free in time. */
  async with<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const start = performance.now()
    const client = await this.#pool.connect().catch((error) => {
      throw databaseUnavailable(error)
    })
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

  /** Closes after the running queries, or after the longest time that a response may take. */
  async close(): Promise<void> {
    await Promise.race([this.#pool.end(), wait(answerTimeoutMs, undefined, { ref: false })])
  }
}

export function parseSettings(url: string): pg.ClientConfig {
  return {
    connectionString: verifyingServer(url),
    types,
    application_name: 'waymark',
    connectionTimeoutMillis: 1000 * Number(new URL(url).searchParams.get('connect_timeout') ?? connectTimeout),
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

const [bigintType, jsonType] = [20, 114]

/** Ids and counts are numbers: they stay below 2^53. JSON is text, as on SQLite. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (id, format) => {
    if (id === bigintType) return Number
    return id === jsonType ? String : pg.types.getTypeParser(id, format)
  },
}
