import { existsSync, statSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'
import { StartupFailure } from '../../errors.ts'
import type { BackupOptions, Copies } from '../copies.ts'
import { writeWhole } from '../whole-file.ts'
import { resultCode, resultCodes } from './errors.ts'

/** How long a lock of another process is awaited. Milliseconds. */
const lockTimeoutMs = 10_000
/** Some megabytes, after which progress is told. */
const pagesAtOnce = 1_000

/** A backup is one file, without the search index, which is made anew from it. */
export function sqliteCopies(path: string): Copies {
  return {
    backUp: (file, options) => writeWhole(file, options.mayReplace, (target) => backUp(path, target, options)),
    // What a restored database is checked by is not loaded for anything else.
    restore: async (file, isStopped) => (await import('./restore.ts')).restore(path, file, isStopped),
    isItself: (file) => isSame(path, file),
  }
}

async function backUp(path: string, target: string, { onProgress }: BackupOptions): Promise<void> {
  if (!existsSync(path)) {
    throw new StartupFailure(
      `There is no Waymark database at ${path} yet. Check DATABASE_URL, or start the server once.`,
    )
  }
  const source = new DatabaseSync(path, { timeout: lockTimeoutMs })
  try {
    // Within a read transaction the copy is that of this moment, whatever is written meanwhile. Without one, SQLite would
    // begin anew after each write of another process, and never end beside a busy server.
    source.exec('begin')
    source.prepare('select count(*) from sqlite_schema').get()
    await backup(source, target, {
      rate: pagesAtOnce,
      progress: ({ totalPages, remainingPages }) => onProgress(totalPages - remainingPages, totalPages),
    })
    finish(target)
  } catch (error) {
    if (error instanceof StartupFailure) throw error
    const { message } = error as Error
    throw isDamage(error) ? damaged(message) : new StartupFailure(`The backup could not be made: ${message}.`)
  } finally {
    source.close()
  }
}

/** Checks the copy, and makes it a file that can be read from anywhere: one that needs no log beside it. */
function finish(target: string): void {
  const copy = new DatabaseSync(target)
  try {
    const [{ quick_check: verdict } = {}] = copy.prepare('pragma quick_check(1)').all()
    if (verdict !== 'ok') throw damaged(String(verdict))
    copy.exec('pragma journal_mode = delete')
  } finally {
    copy.close()
  }
}

function isSame(path: string, file: string): boolean {
  const [own, other] = [path, file].map((each) => statSync(each, { throwIfNoEntry: false }))
  return own !== undefined && own.ino === other?.ino && own.dev === other.dev
}

function isDamage(error: unknown): boolean {
  const code = resultCode(error)
  return code === resultCodes.corrupt || code === resultCodes.notADatabase
}

function damaged(why: string): StartupFailure {
  return new StartupFailure(`The database is damaged, and so would be its backup: ${why}.`)
}
