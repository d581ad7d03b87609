import { DatabaseSync } from 'node:sqlite'
import { isBusy } from './sqlite/errors.ts'

/** A lock that this process holds. */
export interface FileLock {
  release(): void
}

/**
 * Locks the file until the lock is released or the process ends. Creates the file if it is missing. Returns null if another
 * process, or another thread of this one, holds the lock. Uses SQLite's locks, because Node has no file locks.
 */
export function lockFile(path: string): FileLock | null {
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    // Without a journal file.
    database.exec('pragma journal_mode = memory; begin exclusive')
    return { release: () => database.close() }
  } catch (error) {
    database.close()
    if (isBusy(error)) return null
    throw error
  }
}
