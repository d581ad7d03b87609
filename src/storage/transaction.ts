import type { Db } from './port.ts'

/**
 * A transaction is a database too: what is asked of it joins it. `execute` and `all` run a query and a statement in the
 * transaction.
 */
export function transactionOf(execute: Db['execute'], all: Db['all']): Db {
  const db: Db = { execute, all, writeOne: all, write: (work) => work(db) }
  return db
}
