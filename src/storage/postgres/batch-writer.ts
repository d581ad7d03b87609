import { databaseUnavailable } from '../../errors.ts'
import { Semaphore } from '../../lib/semaphore.ts'
import type { BatchWriter } from '../port.ts'
import { Pool } from './pool.ts'
import { execute, transact } from './queries.ts'

/** Opens a database that has been migrated, with one connection. */
export function openPostgresBatchWriter(url: string): BatchWriter {
  const pool = new Pool(url, 1)
  const closed = () => databaseUnavailable(new Error('The connection is closed.'))
  const turns = new Semaphore({ concurrency: 1, rejection: closed })
  let isClosed = false
  const next = async <T>(task: () => Promise<T>): Promise<T> => {
    if (isClosed) throw closed()
    return turns.run(task)
  }
  return {
    write: (work) => next(() => transact(pool, 'default', work)),
    async scrub(table) {
      // Deleted rows stay in their pages until the table is written again, which locks it: too long for large tables.
      if (table === 'click_days') return
      const query = { sql: `vacuum full ${table}`, parameters: [] }
      await next(() => pool.with((client) => execute(client, query, { isPrepared: false })))
    },
    async close() {
      if (isClosed) return
      isClosed = true
      await turns.run(() => pool.close())
    },
  }
}
