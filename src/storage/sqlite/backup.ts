import { existsSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'
import { noDatabaseAt, StartupFailure } from '../../errors.ts'
import { writeWhole } from '../../lib/whole-file.ts'
import { appendChecksum, type OnProgress } from './checksum.ts'
import { reasonOf } from './errors.ts'
import { refuseDatabaseFolder, removeAuxiliaryFiles } from './open.ts'

export interface BackupOptions {
  readonly mayReplace: boolean
  readonly onProgress: OnProgress
}

/** How long a backup waits for a lock of another process. Milliseconds. */
const lockTimeoutMs = 10_000
/** A few megabytes. */
const pagesBetweenProgress = 1_000

/** See `backUp` in `storage/open.ts`. */
export function backUp(path: string, file: string, { mayReplace, onProgress }: BackupOptions): Promise<void> {
  return writeWhole(file, mayReplace, (target) => writeBackup(path, target, onProgress))
}

async function writeBackup(path: string, target: string, onProgress: OnProgress): Promise<void> {
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
      : new StartupFailure(`Can't write the backup: ${message}.`)
  } finally {
    removeAuxiliaryFiles(target)
  }
}

/**
 * Copies the current state of the database. Without the read transaction, SQLite would restart the copy after each write of
 * another process, and never finish while a server is busy.
 */
async function copy(path: string, target: string, onProgress: OnProgress): Promise<void> {
  using source = new DatabaseSync(path, { timeout: lockTimeoutMs })
  source.exec('begin; select 1 from sqlite_schema')
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

function damaged(why: string): StartupFailure {
  return new StartupFailure(`Can't back up a damaged database: ${why}.`)
}
