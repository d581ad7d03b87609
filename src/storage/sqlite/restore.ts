/**
 * Puts a backup in the place of a database file. Whatever goes wrong, one of the two is whole and at its place.
 */
import {
  chmodSync,
  chownSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { StartupFailure } from '../../errors.ts'
import type { Restored } from '../copies.ts'
import { migrationsOf } from '../migrations/all.ts'
import { syncToDisk } from '../whole-file.ts'
import { isBusy, resultCode, resultCodes } from './errors.ts'
import { holdsRecords, makeFolder, refuseStranger } from './open.ts'
import { removeSearchFile } from './search/index-file.ts'

/** See `Copies.restore`. */
export function restore(path: string, file: string, isStopped: boolean): Restored {
  const candidate = `${path}.restoring-${process.pid}`
  makeFolder(path)
  try {
    takeCopy(file, candidate)
    check(file, candidate)
    const lock = existsSync(path) ? lockAlone(path, isStopped) : undefined
    try {
      return replace(path, candidate)
    } finally {
      lock?.close()
    }
  } catch (error) {
    if (error instanceof StartupFailure) throw error
    throw new StartupFailure(`The backup could not be restored: ${(error as Error).message}. Nothing was replaced.`)
  } finally {
    for (const suffix of ['', '-wal', '-shm']) rmSync(candidate + suffix, { force: true })
  }
}

/** The backup itself is only read: whoever keeps it may have made it read-only. */
function takeCopy(file: string, candidate: string): void {
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) throw new StartupFailure(`There is no file ${file}.`)
  if ((statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) {
    throw new StartupFailure(
      `The file ${file} has a log beside it, ${file}-wal: it is in use, or was copied while it was. Restore what "waymark backup" made.`,
    )
  }
  copyFileSync(file, candidate, constants.COPYFILE_FICLONE)
  chmodSync(candidate, 0o600)
}

function check(file: string, candidate: string): void {
  try {
    const database = new DatabaseSync(candidate)
    try {
      checkContent(file, database)
    } finally {
      database.close()
    }
  } catch (error) {
    const code = resultCode(error)
    if (code === resultCodes.notADatabase) throw new StartupFailure(`The file ${file} is not a database.`)
    if (code === resultCodes.corrupt) throw damaged(file, (error as Error).message)
    throw error
  }
}

function checkContent(file: string, database: DatabaseSync): void {
  const [{ integrity_check: verdict } = {}] = database.prepare('pragma integrity_check(1)').all()
  if (verdict !== 'ok') throw damaged(file, String(verdict))
  if (!holdsRecords(database)) throw new StartupFailure(`The file ${file} is not a database of Waymark.`)
  const known = migrationsOf('sqlite')
  const newer = database
    .prepare('select name from kysely_migration')
    .all()
    .some(({ name }) => !(String(name) in known))
  if (newer)
    throw new StartupFailure(`The file ${file} was made by a newer version of Waymark. Restore it with that one.`)
}

function damaged(file: string, why: string): StartupFailure {
  return new StartupFailure(`The file ${file} is damaged: ${why}.`)
}

/**
 * Locks the database against everyone, or throws when anyone has it open: whoever does holds a shared lock on it, which
 * SQLite needs to tell who closes it last. What is in the log is brought into the file. Undefined for a file that is
 * damaged and so cannot be asked; then the shared memory beside it tells, and else the operator must.
 */
function lockAlone(path: string, isStopped: boolean): DatabaseSync | undefined {
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    refuseStranger(path, database)
    database.exec('pragma journal_mode = delete; begin exclusive')
    return database
  } catch (error) {
    database.close()
    if (error instanceof StartupFailure) throw error
    if (isBusy(error)) {
      throw new StartupFailure(
        `The database ${path} is in use. Stop the server, and every other process that has it open.`,
      )
    }
    if (isStopped || !existsSync(`${path}-shm`)) return undefined
    throw new StartupFailure(
      `The database ${path} is damaged (${(error as Error).message}), so it cannot be told whether a server has it open. Stop the server, then add --stopped.`,
    )
  }
}

/** A server that starts in this moment finds one of the two, and never a file with the log of the other. */
function replace(path: string, candidate: string): Restored {
  const old = statSync(path, { throwIfNoEntry: false })
  if (old !== undefined) {
    chmodSync(candidate, old.mode & 0o777)
    chownSync(candidate, old.uid, old.gid)
  }
  syncToDisk(candidate)
  const kept = old === undefined ? null : `${path}.replaced-${new Date().toISOString().replaceAll(':', '-')}`
  if (kept !== null) linkSync(path, kept)
  if (kept !== null && existsSync(`${path}-wal`)) renameSync(`${path}-wal`, `${kept}-wal`)
  for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true })
  removeSearchFile(path)
  renameSync(candidate, path)
  syncToDisk(dirname(path))
  return { replaced: kept }
}
