import pg, { type PoolClient } from 'pg'
import { databaseUnavailable } from '../../errors.ts'
import { isBroken } from './errors.ts'

/** Longest a statement may run; the server ends it. Milliseconds. */
const statementTimeoutMs = 5_000
/** Longest that making a connection, or waiting for one of the pool, may take. */
const connectTimeoutMs = 1_500
/** A connection on which an answer is missing for so long is given up. */
const answerTimeoutMs = statementTimeoutMs + 1_000
/** After so long without use a connection is closed. */
const idleMs = 60_000

/** Connections to one server: made when they are needed, replaced when they break. */
export class Pool {
  readonly #pool: pg.Pool

  /** Connects when it is first used. */
  constructor(url: string, size: number) {
    this.#pool = new pg.Pool({ ...settingsOf(url), max: size, idleTimeoutMillis: idleMs })
    // Whoever uses a connection hears of its end from the statement; one that ends while it is idle leaves the pool.
    this.#pool.on('connect', (client) => client.on('error', () => undefined))
    this.#pool.on('error', () => undefined)
  }

  /**
   * What `work` makes of a connection that nobody else uses meanwhile. Throws `database_unavailable` when none is to be
   * had, and whatever `work` throws.
   */
  async with<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#connect()
    try {
      const result = await work(client)
      client.release()
      return result
    } catch (error) {
      client.release(isBroken(error))
      throw error
    }
  }

  /** Waits for the statements under way, then closes. */
  close(): Promise<void> {
    return this.#pool.end()
  }

  async #connect(): Promise<PoolClient> {
    try {
      return await this.#pool.connect()
    } catch (error) {
      throw databaseUnavailable(error)
    }
  }
}

/** What a connection is opened with. */
export function settingsOf(url: string): pg.ClientConfig {
  return {
    connectionString: url,
    types,
    application_name: 'waymark',
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    query_timeout: answerTimeoutMs,
    idle_in_transaction_session_timeout: answerTimeoutMs,
    keepAlive: true,
  }
}

const bigintType = 20

/** Ids and counts are numbers: they do not grow past 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (id, format) => (id === bigintType ? Number : pg.types.getTypeParser(id, format)),
}
