import type { DatabaseSync } from 'node:sqlite'

/** Runs `work` in a transaction, of which nothing is kept when it throws. `immediate` takes the write lock at once. */
export function transact<T>(db: DatabaseSync, mode: 'deferred' | 'immediate', work: () => T): T {
  db.exec(`begin ${mode}`)
  try {
    const result = work()
    db.exec('commit')
    return result
  } catch (error) {
    // Some errors have ended the transaction already.
    if (db.isTransaction) db.exec('rollback')
    throw error
  }
}
