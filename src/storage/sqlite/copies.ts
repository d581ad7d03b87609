import { existsSync, statSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'
import { noDatabaseAt, StartupFailure } from '../../errors.ts'
import { writeWhole } from '../../lib/whole-file.ts'
import type { BackupOptions, Copies } from '../copies.ts'
import { appendChecksum } from './checksum.ts'
import { reasonOf } from './errors.ts'
import { refuseDatabaseFolder, removeBeside } from './opened-file.ts'

/** How long a backup waits for a lock of another process. Milliseconds. */
const lockTimeoutMs = 10_000
/** A few megabytes. */
const pagesBetweenProgress = 1_000

/** Backs up a database file to a single file, and restores it. */
export function sqliteCopies(path: string): Copies {
  return {
    backUp: (file, options) => writeWhole(file, options.mayReplace, (target) => backUp(path, target, options)),
    // Loaded on demand, because only this command needs it.
    restore: async (file, options) => (await import('./restore.ts')).restore(path, file, options),
    isItself: (file) => isSame(path, file),
  }
}

async function backUp(path: string, target: string, { onProgress }: BackupOptions): Promise<void> {
  if (!existsSync(path)) throw noDatabaseAt(path)
  refuseDatabaseFolder(path)
  try {
    await copy(path, target, onProgress)
    finish(target)
    await appendChecksum(target, onProgress)
  } catch (error) {
    if (error instanceof StartupFailure) throw error
    const { message } = error as Error
    throw reasonOf(error) === 'database_corrupt'
      ? damaged(message)
      : new StartupFailure(`The backup could not be made: ${message}.`)
  } finally {
    removeBeside(target)
  }
}

/**
 * Copies the current state of the database. Without the read transaction, SQLite would restart the copy after each write of
 * another process, and never finish while a server is busy.
 */
async function copy(path: string, target: string, onProgress: BackupOptions['onProgress']): Promise<void> {
  using source = new DatabaseSync(path, { timeout: lockTimeoutMs })
  source.exec('begin')
  source.prepare('select count(*) from sqlite_schema').get()
  await backup(source, target, {
    rate: pagesBetweenProgress,
    progress: ({ totalPages, remainingPages }) => onProgress('copied', 1 - remainingPages / totalPages),
  })
}

/** Checks the copy, and makes it readable without a WAL. */
function finish(target: string): void {
  using database = new DatabaseSync(target)
  const [{ quick_check: verdict } = {}] = database.prepare('pragma quick_check(1)').all()
  if (verdict !== 'ok') throw damaged(String(verdict))
  database.exec('pragma journal_mode = delete')
}

function isSame(path: string, file: string): boolean {
  const [own, other] = [path, file].map((each) => statSync(each, { throwIfNoEntry: false }))
  return own !== undefined && own.ino === other?.ino && own.dev === other.dev
}

function damaged(why: string): StartupFailure {
  return new StartupFailure(`The database is damaged, so no backup of it was made: ${why}.`)
}
