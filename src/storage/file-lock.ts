import { DatabaseSync } from 'node:sqlite'
import { isBusy } from './sqlite/errors.ts'

/** A lock that this process holds. */
export interface FileLock {
  release(): void
}

/** Locks and creates the file, until the release or the end of the process. Returns null if it is locked already. */
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
