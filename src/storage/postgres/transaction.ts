import { setTimeout as wait } from 'node:timers/promises'
import type { PoolClient } from 'pg'
import type { Db, Isolation } from '../port.ts'
import { compileQuery } from '../schema.ts'
import { transactionOf } from '../transaction.ts'
import { compiler } from './compiled.ts'
import { isSerializationFailure, translated } from './errors.ts'
import type { Pool } from './pool.ts'
import { execute } from './run.ts'

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
    const tx = transactionOf((query) => execute(client, compileQuery(compiler, query)))
    const result = await work(tx)
    // If a statement failed, the server rolls back, even if `work` caught the error.
    if ((await control(client, 'commit')) !== 'COMMIT') throw new Error('A statement of the transaction had failed.')
    return result
  } catch (error) {
    await control(client, 'rollback')
    throw error
  }
}

/** Returns the command that the server completed. */
async function control(client: PoolClient, text: string): Promise<string> {
  try {
    return (await client.query(text)).command
  } catch (error) {
    throw translated(error)
  }
}

const maxAttempts = 10
/** The longest pause before the second attempt. Later pauses grow with the number of attempts. Milliseconds. */
const pauseMs = 10

/** Runs a transaction again after a serialization failure. Throws the error of the last attempt. */
export async function retry<T>(transaction: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transaction()
    } catch (error) {
      if (attempt === maxAttempts || !isSerializationFailure(error)) throw error
    }
    await wait(Math.random() * pauseMs * attempt)
  }
}
