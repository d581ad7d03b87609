import { databaseUnavailable } from '../../errors.ts'
import type { BatchWriter } from '../port.ts'
import { Pool } from './pool.ts'
import { compiledForPostgres, execute, transact } from './queries.ts'

/** Opens a database that has been migrated, with one connection. */
export function openPostgresBatchWriter(url: string): BatchWriter {
  const pool = new Pool(url, 1)
  let isClosed = false
  let last: Promise<unknown> = Promise.resolve()
  /** Runs tasks one after another, because waiting for the connection has a time limit. */
  const inTurn = <T>(task: () => Promise<T>): Promise<T> => {
    const result = last.then(task)
    last = result.catch(() => undefined)
    return result
  }
  const next = async <T>(task: () => Promise<T>): Promise<T> => {
    if (isClosed) throw databaseUnavailable(new Error('The connection is closed.'))
    return inTurn(task)
  }
  return {
    execute: (query) => next(() => pool.with((client) => execute(client, compiledForPostgres(query)))),
    write: (work, isolation = 'default') => next(() => transact(pool, isolation, work)),
    async scrub(table) {
      // Deleted rows stay in their pages until the table is written again, which locks it: too long for large tables.
      if (table !== 'click_salts') return
      const query = { sql: `vacuum full ${table}`, parameters: [] }
      await next(() => pool.with((client) => execute(client, query, { isPrepared: false })))
    },
    async close() {
      if (isClosed) return
      isClosed = true
      await inTurn(() => pool.close())
    },
  }
}
