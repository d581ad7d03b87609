import type { DatabaseSync } from 'node:sqlite'

/** Runs `work` in a transaction, which is rolled back if `work` throws. `immediate` takes the write lock at once. */
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
