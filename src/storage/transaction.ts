import type { Db } from './port.ts'

/** Returns the `Db` of a transaction: its writes join it. `execute` runs a query in the transaction. */
export function transactionOf(execute: Db['execute']): Db {
  const db: Db = { execute, write: (work) => work(db) }
  return db
}
