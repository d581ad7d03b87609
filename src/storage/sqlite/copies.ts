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
/** Some megabytes. */
const pagesBetweenProgress = 1_000

/** A backup is one file. */
export function sqliteCopies(path: string): Copies {
  return {
    backUp: (file, options) => writeWhole(file, options.mayReplace, (target) => backUp(path, target, options)),
    // Loaded on demand: no other command needs the checks of a restore.
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
 * Copies the database as it is at this moment, whatever others write meanwhile. Without the read transaction, SQLite
 * would start over after each write of another process, and never finish beside a busy server.
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

/** Checks the copy, and makes it readable without a log beside it. */
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
