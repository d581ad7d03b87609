import { accessSync, constants, existsSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import { StartupFailure } from '../../errors.ts'
import { makeOwnFile, refuseFolder } from '../../lib/whole-file.ts'
import {
  type MigrationDb,
  type MigrationState,
  type Migrations,
  migrate,
  readStates,
  statesBefore,
} from '../migrate.ts'
import { buildMigrations } from '../migrations/all.ts'
import { isBusy, resultCode, resultCodes } from './connection.ts'
import { SqliteStorage } from './storage.ts'

const migrations = buildMigrations('sqlite')

/** How long a start waits for another process that migrates or writes. Milliseconds. */
const startTimeoutMs = 10_000
/** How long SQLite itself waits, which blocks the event loop. Milliseconds. */
const blockingMs = 100
const retryMs = 20

/**
 * Opens and migrates the database file at `path`. Creates the file and its folder if they are missing. Throws
 * `StartupFailure` if the file cannot be used. Never changes files of other programs.
 */
export async function openSqlite(path: string, timeoutMs = startTimeoutMs): Promise<SqliteStorage> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    try {
      return await open(path)
    } catch (error) {
      if (error instanceof StartupFailure) throw error
      if (!isBusy(error) || performance.now() > deadline) throw new StartupFailure(reason(path, error))
    }
    // SQLite itself does not wait for some locks.
    await wait(retryMs)
  }
}

/** Returns the migrations of the file at `path`, which may be missing. Only reads. */
export async function migrationsOfSqlite(path: string): Promise<MigrationState[]> {
  if (!existsSync(path)) return statesBefore(migrations)
  try {
    using database = new DatabaseSync(path, { timeout: startTimeoutMs, readOnly: true })
    return await readStates(migrationDb(database), migrations)
  } catch (error) {
    throw error instanceof StartupFailure ? error : new StartupFailure(reason(path, error))
  }
}

async function open(path: string): Promise<SqliteStorage> {
  makeFolder(path)
  refuseReadOnly(path)
  // SQLite creates the auxiliary files with the same mode.
  if (!existsSync(path)) makeOwnFile(path)
  await checkAndMigrate(path)
  return new SqliteStorage(path)
}

/** Creates the database folder. Throws `StartupFailure`. */
export function makeFolder(path: string): void {
  const folder = dirname(path)
  try {
    makeFolders(folder)
  } catch (error) {
    const why = (error as Error).message
    throw new StartupFailure(`Can't create the database folder ${folder}: ${why}. ${wayOut}`)
  }
}

/** Creates a folder and its parents. Node's `recursive` option would never end in /proc. */
function makeFolders(folder: string): void {
  if (isFolder(folder)) return
  makeFolders(dirname(folder))
  try {
    mkdirSync(folder)
  } catch (error) {
    if (!isFolder(folder)) throw error
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** SQLite would open a read-only file, and only the first write would fail. */
function refuseReadOnly(path: string): void {
  for (const each of [dirname(path), path].filter(existsSync)) {
    try {
      accessSync(each, constants.R_OK | constants.W_OK)
    } catch {
      throw new StartupFailure(`Can't write to the database: ${each} is read-only for this user. ${wayOut}`)
    }
  }
  refuseDatabaseFolder(path)
}

/** Migrates the file. Throws `StartupFailure` if another program or an incompatible version created it. */
async function checkAndMigrate(path: string): Promise<void> {
  using database = new DatabaseSync(path, { timeout: blockingMs })
  refuseOtherProgram(path, database)
  await migrateSqlite(database, migrations)
}

/** Throws `StartupFailure` if the database at `path` belongs to another program. */
export function refuseOtherProgram(path: string, database: DatabaseSync): void {
  const isEmpty = database.prepare('select 1 from sqlite_schema limit 1').get() === undefined
  if (isEmpty || holdsRecords(database)) return
  throw new StartupFailure(`The file ${path} is the database of another program. Set DATABASE_URL to another file.`)
}

/** Returns whether it is a database of any version of Waymark. */
export function holdsRecords(database: DatabaseSync): boolean {
  const marks = `select name from sqlite_schema where type = 'table' and name in ('kysely_migration', 'instance')`
  return database.prepare(marks).all().length === 2
}

/** Throws `StartupFailure` if the path of the database is a folder. */
export function refuseDatabaseFolder(path: string): void {
  refuseFolder(path, 'Set DATABASE_URL to a file in it.', 'The database')
}

/** Deletes the auxiliary files of a database, which SQLite leaves behind after an error. */
export function removeAuxiliaryFiles(path: string): void {
  for (const suffix of ['-journal', '-wal', '-shm']) rmSync(path + suffix, { force: true })
}

function reason(path: string, error: unknown): string {
  const why = error instanceof Error ? error.message : String(error)
  return explanations[resultCode(error)]?.(path, why) ?? `Can't open the database ${path}: ${why}. ${wayOut}`
}

const wayOut = 'Allow this user to write there, or set DATABASE_URL to another file.'

/** Explanations by primary result code of SQLite. */
const explanations: Readonly<Record<number, (path: string, why: string) => string>> = {
  [resultCodes.busy]: (path) => `The database ${path} is locked by another process. Stop that process.`,
  [resultCodes.corrupt]: (path, why) => `The database ${path} is damaged: ${why}. Restore a backup.`,
  [resultCodes.full]: (path) => `Can't open the database ${path}: the disk is full. Free some space.`,
  [resultCodes.notADatabase]: (path) => `The file ${path} is not a database. Set DATABASE_URL to another file.`,
}

/**
 * Migrates in one transaction, unless up to date. Turns foreign keys off on the connection, because a migration that writes a
 * table again would delete what refers to its rows. Throws `StartupFailure`, or SQLite's error if the file is locked.
 */
export async function migrateSqlite(database: DatabaseSync, migrations: Migrations): Promise<void> {
  const db = migrationDb(database)
  if ((await readStates(db, migrations)).every(({ isApplied }) => isApplied)) return
  database.exec('pragma foreign_keys = off; begin immediate')
  try {
    await migrate(db, migrations)
    database.exec('commit')
  } catch (error) {
    // Some errors, such as a full disk, have ended the transaction.
    if (database.isTransaction) database.exec('rollback')
    throw error
  }
}

function migrationDb(database: DatabaseSync): MigrationDb {
  const named = `select 1 from sqlite_schema where type = 'table' and name = ?`
  return {
    run: async (statement) => database.prepare(statement).all(),
    hasTable: async (name) => database.prepare(named).get(name) !== undefined,
  }
}
