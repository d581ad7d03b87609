import type { PoolClient } from 'pg'
import type { Db, Isolation } from '../port.ts'
import { compileQuery } from '../statement.ts'
import { transactionOf } from '../transaction.ts'
import { compiler } from './compiled.ts'
import { translated } from './errors.ts'
import type { Pool } from './pool.ts'
import { retry } from './retry.ts'
import { execute, run } from './run.ts'

const begin: Readonly<Record<Isolation, string>> = {
  default: 'begin',
  serializable: 'begin isolation level serializable',
}

/** See `Db.write`. */
export function transact<T>(pool: Pool, isolation: Isolation, work: (db: Db) => Promise<T>): Promise<T> {
  return retry(() => pool.with((client) => transactOn(client, isolation, work)))
}

async function transactOn<T>(client: PoolClient, isolation: Isolation, work: (db: Db) => Promise<T>): Promise<T> {
  await control(client, begin[isolation])
  try {
    const tx = transactionOf(
      (query) => execute(client, compileQuery(compiler, query)),
      (statement, params) => run(client, statement, params),
    )
    const result = await work(tx)
    // After a statement that failed, even if `work` caught its error, the server rolls back and says so.
    if ((await control(client, 'commit')) !== 'COMMIT') throw new Error('A statement of the transaction had failed.')
    return result
  } catch (error) {
    await control(client, 'rollback')
    throw error
  }
}

/** Returns what the server did. */
async function control(client: PoolClient, text: string): Promise<string> {
  try {
    return (await client.query(text)).command
  } catch (error) {
    throw translated(error)
  }
}
