/** A server that is killed while it works, and its next start on the same database. */
import { type Bench, eventually, type Variables } from '../processes.ts'
import { databaseOn, queryAt, startVisited, type VisitedServer } from '../visited-server.ts'

export const engines = ['sqlite', 'postgres'] as const
export type Engine = (typeof engines)[number]

export class KilledServer {
  readonly variables: Variables
  /** The running server. */
  server: VisitedServer
  kills = 0
  readonly #bench: Bench

  private constructor(bench: Bench, variables: Variables, server: VisitedServer) {
    this.#bench = bench
    this.variables = variables
    this.server = server
  }

  /** Starts a server on a new database. */
  static async start(bench: Bench, engine: Engine, more: Variables = {}): Promise<KilledServer> {
    const variables = { ...(await databaseOn(bench, engine)), ...more }
    return new KilledServer(bench, variables, await startVisited(bench, variables))
  }

  /**
   * Kills the server when `isTime` returns true, which is tried every `everyMs`, or when all the work has ended. Starts the
   * next server.
   */
  async killDuring(
    work: readonly Promise<unknown>[],
    isTime: () => Promise<boolean> | boolean,
    everyMs = 2,
  ): Promise<void> {
    let hasEnded = false
    const settledWork = Promise.allSettled(work).then((results) => {
      hasEnded = true
      return results
    })
    await eventually(async () => hasEnded || (await isTime()), undefined, everyMs)
    this.server.child.kill('SIGKILL')
    for (const result of await settledWork) {
      if (result.status === 'rejected' && !isCut(result.reason)) throw result.reason
    }
    await this.server.ended
    this.kills += 1
    await this.#settled()
    this.server = await startVisited(this.#bench, this.variables, this.server.key)
  }

  /** Runs a query on the database, without a server. */
  query(text: string): Promise<Record<string, unknown>[]> {
    return queryAt(this.variables, text)
  }

  /** Returns the numbers in the only row of a query. */
  async numbers(text: string): Promise<number[]> {
    const [row] = await this.query(text)
    return Object.values(row ?? {}).map(Number)
  }

  /** Returns the number of rows, such as in `links where id > 7`. */
  async count(rows: string): Promise<number> {
    const [count = 0] = await this.numbers(`select count(*) as n from ${rows}`)
    return count
  }

  /** Resolves once no deleted record waits for its removal. */
  async removed(): Promise<void> {
    const all = ['domains', 'spaces', 'tags'].map((table) => `select id from ${table} where account_id = 0`)
    await eventually(async () => (await this.query(all.join(' union all '))).length === 0)
  }

  /** Resolves once no connection of a killed server can commit any more, which PostgreSQL may do after its end. */
  async #settled(): Promise<void> {
    if (!this.variables.DATABASE_URL?.startsWith('postgres:')) return
    const others = 'select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'
    await eventually(async () => (await this.query(others)).length === 0)
  }
}

/** Returns whether a request got no response because the server was killed. */
export function isCut(error: unknown): boolean {
  return ['ECONNRESET', 'ECONNREFUSED', 'EPIPE'].includes((error as { readonly code?: string }).code ?? '')
}
