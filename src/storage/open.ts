import { existsSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { StartupFailure, UseOwnTool } from '../errors.ts'
import { program } from '../version.ts'
import type { MigrationState } from './migrate.ts'
import { describePostgres, type Storage, type StorageLocation } from './port.ts'
import type { BackupOptions } from './sqlite/backup.ts'
import type { Restored, RestoreOptions } from './sqlite/restore.ts'

/** Opens and migrates the database. Throws `StartupFailure` with a sentence for the operator. */
export async function openStorage(location: StorageLocation): Promise<Storage> {
  if (location.engine === 'sqlite') return (await sqlite()).openSqlite(location.path)
  return (await postgres()).openPostgres(location.url, location.pool)
}

/** Returns the migrations in order, and whether each has been applied. Only reads. Throws `StartupFailure`. */
export async function migrationsAt(location: StorageLocation): Promise<MigrationState[]> {
  if (location.engine === 'sqlite') return (await sqlite()).migrationsOfSqlite(location.path)
  return (await postgres()).migrationsOfPostgres(location.url)
}

/** A command needs a database that does not exist yet. */
export function noDatabaseAt(location: string): StartupFailure {
  return new StartupFailure(
    `There is no Waymark database at ${location}. Check DATABASE_URL, or create the database with "${program} migrate".`,
  )
}

/** Returns whether Waymark's database exists. Otherwise, `openStorage` creates it. */
export async function isThere(location: StorageLocation): Promise<boolean> {
  if (location.engine === 'sqlite') return existsSync(location.path)
  return (await migrationsAt(location)).some(({ isApplied }) => isApplied)
}

/** Writes a checked copy of the database at one moment, with a checksum. Throws `StartupFailure` and `UseOwnTool`. */
export async function backUp(location: StorageLocation, file: string, options: BackupOptions): Promise<void> {
  if (location.engine === 'postgres') {
    throw useOwnTool('back up', `pg_dump --format=custom ${withoutPassword(location.url)} --file=${quoted(file)}`)
  }
  if (!existsSync(location.path)) throw noDatabaseAt(location.path)
  await (await import('./sqlite/backup.ts')).backUp(location.path, file, options)
}

/** Replaces the database with a backup, or nothing. Throws `StartupFailure`, and `UseOwnTool` for PostgreSQL. */
export async function restore(location: StorageLocation, file: string, options: RestoreOptions): Promise<Restored> {
  if (location.engine === 'postgres') {
    const options = '--clean --if-exists --no-owner --single-transaction'
    throw useOwnTool('restore', `pg_restore ${options} ${withoutPassword(location.url)} ${quoted(file)}`)
  }
  return (await import('./sqlite/restore.ts')).restore(location.path, file, options)
}

/** Returns whether a file is the database itself, under any name, or its log, which may not exist at the moment. */
export function isDatabaseFile(location: StorageLocation, file: string): boolean {
  if (location.engine === 'postgres') return false
  const [own, other] = [location.path, file].map((path) => statSync(path, { throwIfNoEntry: false }))
  if (own !== undefined && own.ino === other?.ino && own.dev === other.dev) return true
  return ['-wal', '-shm', '-journal'].some((suffix) => realPath(location.path) + suffix === realPath(file))
}

/** Returns the path without symbolic links. The file may not exist. */
function realPath(path: string): string {
  if (existsSync(path)) return realpathSync(path)
  const folder = resolve(dirname(path))
  return join(existsSync(folder) ? realpathSync(folder) : folder, basename(path))
}

/** Returns the location for messages to the operator, with an absolute path. */
export function describeLocation(location: StorageLocation): string {
  return location.engine === 'sqlite' ? resolve(location.path) : describePostgres(location.url)
}

// Loaded on demand, because an engine is a third of the code that a process loads.
const sqlite = () => import('./sqlite/open.ts')
const postgres = () => import('./postgres/open.ts')

/** Returns the error that names PostgreSQL's own tool, which works while the database is in use. */
function useOwnTool(action: string, command: string): UseOwnTool {
  return new UseOwnTool(
    `To ${action} a PostgreSQL database, run this command. It asks for the password or reads it from PGPASSFILE:\n\n  ${command}`,
  )
}

/** Returns the option that names the database, without the password. */
function withoutPassword(text: string): string {
  const url = new URL(text)
  url.password = ''
  for (const name of ['password', 'sslpassword']) url.searchParams.delete(name)
  return `--dbname=${quoted(url.href)}`
}

/** Quotes an argument for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
