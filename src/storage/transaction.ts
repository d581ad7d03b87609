import type { Db } from './port.ts'

/** Returns the `Db` of a transaction: its writes join it. `execute` and `all` run queries in the transaction. */
export function transactionOf(execute: Db['execute'], all: Db['all']): Db {
  const db: Db = { execute, all, writeOne: all, write: (work) => work(db) }
  return db
}
