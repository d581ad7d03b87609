import pg, { type PoolClient } from 'pg'
import { databaseUnavailable } from '../../errors.ts'
import { durations, Histogram } from '../../histogram.ts'
import type { Meter } from '../port.ts'
import { isBroken } from './errors.ts'
import { wireOf } from './one-packet.ts'
import { SilenceWatch } from './silence-watch.ts'

/** Longest a statement may run; the server ends it. Milliseconds. */
const statementTimeoutMs = 5_000
/** Longest that making a connection, or waiting for one of the pool, may take. */
const connectTimeoutMs = 1_500
/** A connection on which an answer is missing for so long is given up. */
const answerTimeoutMs = statementTimeoutMs + 1_000
/** How soon a server that is there lets somebody in. */
const probeTimeoutMs = 600
/** After so long without use a connection is closed. */
const idleMs = 60_000

/** Connections to one server: made when they are needed, replaced when they break. */
export class Pool {
  readonly #pool: pg.Pool
  readonly #url: string
  readonly #seconds = new Histogram(durations)
  readonly meters: readonly Meter[] = [
    {
      name: 'use_seconds',
      help: 'Time from the wish for a connection to its last answer: that of a transaction, a search, or the reads or writes of one turn.',
      value: this.#seconds,
    },
    { name: 'connections', help: 'Connections that are open.', value: () => this.#pool.totalCount },
    { name: 'idle_connections', help: 'Connections that nobody uses.', value: () => this.#pool.idleCount },
    {
      name: 'waiting_uses',
      help: 'Transactions, searches, and reads and writes of one turn that wait for a connection.',
      value: () => this.#pool.waitingCount,
    },
  ]
  /** Every connection, and whether somebody uses it. */
  readonly #uses = new Map<PoolClient, { isUsed: boolean }>()
  readonly #watch = new SilenceWatch(
    () => this.#probe(),
    () => this.#giveUp(),
  )

  /** Connects when it is first used. */
  constructor(url: string, size: number) {
    this.#url = url
    this.#pool = new pg.Pool({ ...settingsOf(url), pipeline: true, max: size, idleTimeoutMillis: idleMs })
    this.#pool.on('connect', (client) => {
      this.#uses.set(client, { isUsed: false })
      // Whoever uses it hears of its end from the statement; without a listener the error would end the process.
      client.on('error', ignored)
    })
    this.#pool.on('remove', (client) => this.#uses.delete(client))
    // A connection that ends while it is idle has left the pool by now.
    this.#pool.on('error', ignored)
  }

  /**
   * What `work` makes of a connection that nobody else uses meanwhile. Throws `database_unavailable` when none is to be
   * had, and whatever `work` throws.
   */
  async with<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const start = performance.now()
    const client = await this.#connect()
    this.#mark(client, true)
    this.#watch.asked()
    try {
      const result = await work(client)
      this.#release(client, false)
      this.#seconds.add((performance.now() - start) / 1000)
      return result
    } catch (error) {
      this.#release(client, isBroken(error))
      throw error
    }
  }

  /** Waits for the statements under way, then closes. */
  async close(): Promise<void> {
    await this.#pool.end()
    this.#watch.close()
  }

  async #connect(): Promise<PoolClient> {
    try {
      return await this.#pool.connect()
    } catch (error) {
      throw databaseUnavailable(error)
    }
  }

  #release(client: PoolClient, isBroken: boolean): void {
    this.#watch.answered()
    this.#mark(client, false)
    client.release(isBroken)
  }

  #mark(client: PoolClient, isUsed: boolean): void {
    const use = this.#uses.get(client)
    if (use !== undefined) use.isUsed = isUsed
  }

  async #probe(): Promise<void> {
    const client = new pg.Client({ ...settingsOf(this.#url), connectionTimeoutMillis: probeTimeoutMs })
    client.on('error', ignored)
    try {
      await client.connect()
    } catch (error) {
      // A server that refuses, since it has connections enough, is not silent.
      if (error instanceof pg.DatabaseError) return
      throw error
    }
    await client.end()
  }

  /** What waits for an answer fails at once. */
  #giveUp(): void {
    for (const [client, { isUsed }] of this.#uses)
      if (isUsed) wireOf(client).destroy(new Error('The database has fallen silent.'))
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
  }
}

/**
 * `pg` takes "require" for "verify-full", and warns at each start that it may one day not. Waymark goes on to verify;
 * whoever sets `uselibpqcompat` has chosen otherwise.
 */
function verifyingServer(url: string): string {
  const parts = new URL(url)
  const { searchParams } = parts
  if (searchParams.get('sslmode') !== 'require' || searchParams.get('uselibpqcompat') === 'true') return url
  searchParams.set('sslmode', 'verify-full')
  return parts.href
}

const bigintType = 20

/** Ids and counts are numbers: they do not grow past 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (id, format) => (id === bigintType ? Number : pg.types.getTypeParser(id, format)),
}
