import type { Db } from './port.ts'

/** A transaction is a database too: what is asked of it joins it. `all` runs a statement in the transaction. */
export function transactionOf(all: Db['all']): Db {
  const db: Db = { all, writeOne: all, write: (work) => work(db) }
  return db
}
