/** Replaces a database file with a backup. If interrupted, the file is either the previous database or the backup. */
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
import { refuseFolder, syncToDisk } from '../../lib/whole-file.ts'
import { program } from '../../version.ts'
import { isFromDevelopment, wayOutOfDevelopment } from '../migrate.ts'
import { buildMigrations } from '../migrations/all.ts'
import { type OnProgress, readBytes, takeChecksum } from './backup.ts'
import { isBusy, resultCode, resultCodes } from './connection.ts'
import { holdsRecords, makeFolder, refuseDatabaseFolder, refuseOtherProgram, removeAuxiliaryFiles } from './open.ts'

export interface RestoreOptions {
  /** Whether the operator has stopped the server, because a damaged database can't show that. */
  readonly isStopped: boolean
  readonly onProgress: OnProgress
}

export interface Restored {
  /** The path of the previous database; null if there was none. */
  readonly replaced: string | null
  /** Whether the backup had a checksum, which was right. Backups of older versions have none. */
  readonly isVerified: boolean
}

/** See `restore` in `storage/open.ts`. */
export async function restore(
  path: string,
  file: string,
  { isStopped, onProgress }: RestoreOptions,
): Promise<Restored> {
  const candidate = `${path}.restoring-${process.pid}`
  refuseDatabaseFolder(path)
  makeFolder(path)
  try {
    takeCopy(file, candidate)
    const checksum = await takeChecksum(candidate, onProgress)
    if (checksum === 'wrong') {
      throw damaged(file, `its checksum is wrong, so it has changed since "${program} backup" wrote it`)
    }
    check(file, candidate)
    using _lock = existsSync(path) ? lockAlone(path, isStopped) : undefined
    return { replaced: replace(path, candidate), isVerified: checksum === 'right' }
  } catch (error) {
    if (error instanceof StartupFailure) throw error
    throw new StartupFailure(`Can't restore the backup: ${(error as Error).message}. Nothing was replaced.`)
  } finally {
    rmSync(candidate, { force: true })
    removeAuxiliaryFiles(candidate)
  }
}

/** Only reads the backup, which may be read-only. */
function takeCopy(file: string, candidate: string): void {
  refuseFolder(file, 'Choose the backup file in it.')
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) throw new StartupFailure(`The file ${file} doesn't exist.`)
  if ((statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) {
    throw new StartupFailure(
      `Next to the file ${file} is a write-ahead log, ${file}-wal, so it is a database in use or a copy of one. Restore a file that "${program} backup" wrote.`,
    )
  }
  copyFileSync(file, candidate, constants.COPYFILE_FICLONE)
  chmodSync(candidate, 0o600)
}

function check(file: string, candidate: string): void {
  if (isExport(candidate)) {
    throw new StartupFailure(
      `The file ${file} is an export, not a backup. Use "${program} import" to store its records.`,
    )
  }
  try {
    using database = new DatabaseSync(candidate)
    const [{ integrity_check: verdict } = {}] = database.prepare('pragma integrity_check(1)').all()
    if (verdict !== 'ok') throw damaged(file, String(verdict))
    if (!holdsRecords(database)) throw new StartupFailure(`The file ${file} is not a Waymark database.`)
    const rows = database.prepare('select name from kysely_migration').all()
    checkVersion(file, new Set(rows.map(({ name }) => String(name))))
  } catch (error) {
    const code = resultCode(error)
    if (code === resultCodes.notADatabase) throw new StartupFailure(`The file ${file} is not a database.`)
    if (code === resultCodes.corrupt) throw damaged(file, (error as Error).message)
    throw error
  }
}

function isExport(file: string): boolean {
  const mark = '{"waymark_export":'
  return readBytes(file, 0, mark.length).toString('latin1') === mark
}

function checkVersion(file: string, applied: ReadonlySet<string>): void {
  const known = buildMigrations('sqlite')
  if (isFromDevelopment(applied, known)) {
    throw new StartupFailure(
      `The file ${file} was written by a development version of Waymark. Nothing was replaced. Restore it with the commit that wrote it. ${wayOutOfDevelopment}`,
    )
  }
  if ([...applied].some((name) => !(name in known))) {
    throw new StartupFailure(
      `The file ${file} was written by a newer version of Waymark. Restore it with that version.`,
    )
  }
}

function damaged(file: string, why: string): StartupFailure {
  return new StartupFailure(`The file ${file} is damaged: ${why}.`)
}

/**
 * Locks the database exclusively, and moves its log into the file. Throws if another process has it open, because each one
 * holds a shared lock. Returns undefined for a damaged file, which cannot be locked, if it has no shared memory file or the
 * operator has stopped the server.
 */
function lockAlone(path: string, isStopped: boolean): DatabaseSync | undefined {
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    refuseOtherProgram(path, database)
    database.exec('pragma journal_mode = delete; begin exclusive')
    return database
  } catch (error) {
    database.close()
    if (error instanceof StartupFailure) throw error
    if (isBusy(error)) {
      throw new StartupFailure(
        `The database ${path} is in use. Stop the server, and every other process that has the database open.`,
      )
    }
    if (isStopped || !existsSync(`${path}-shm`)) return undefined
    throw new StartupFailure(
      `The database ${path} is damaged (${(error as Error).message}), so it is unknown whether a server has it open. Stop the server, then add --stopped.`,
    )
  }
}

/** Replaces the file, and never combines it with the WAL of the other. Returns the path of the previous database. */
function replace(path: string, candidate: string): string | null {
  const old = statSync(path, { throwIfNoEntry: false })
  if (old !== undefined) {
    chmodSync(candidate, old.mode & 0o777)
    chownSync(candidate, old.uid, old.gid)
  }
  syncToDisk(candidate)
  const kept = old === undefined ? null : `${path}.replaced-${new Date().toISOString().replaceAll(':', '-')}`
  if (kept !== null) {
    linkSync(path, kept)
    // SQLite has not yet applied or rolled back these files.
    for (const log of ['-wal', '-journal']) if (existsSync(path + log)) renameSync(path + log, kept + log)
  }
  removeAuxiliaryFiles(path)
  renameSync(candidate, path)
  syncToDisk(dirname(path))
  return kept
}
