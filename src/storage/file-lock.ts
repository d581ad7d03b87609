import { DatabaseSync } from 'node:sqlite'
import { isBusy } from './sqlite/errors.ts'

/** A lock that this process holds. */
export interface FileLock {
  release(): void
}

/**
 * Locks the file, which is made if there is none, until the lock is released or the process ends, however it ends. null
 * if another process, or another thread of this one, holds the lock. Node has no locks of files; those of SQLite are the
 * kernel's.
 */
export function lockFile(path: string): FileLock | null {
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    // In memory, so that no journal lies beside the file.
    database.exec('pragma journal_mode = memory; begin exclusive')
    return { release: () => database.close() }
  } catch (error) {
    database.close()
    if (isBusy(error)) return null
    throw error
  }
}
