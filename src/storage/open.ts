import { existsSync } from 'node:fs'
import type { MigrationState } from './migrate.ts'
import type { Storage } from './port.ts'
import { migrationsOfPostgres, openPostgres, placeOfPostgres } from './postgres/open.ts'
import { migrationsOfSqlite, openSqlite } from './sqlite/open.ts'

/** Where the records are kept, as configuration names it. */
export type StorageLocation = SqliteLocation | PostgresLocation

export interface SqliteLocation {
  readonly engine: 'sqlite'
  /** Path of the database file. */
  readonly path: string
}

export interface PostgresLocation {
  readonly engine: 'postgres'
  /** `postgres://…`, as libpq knows it; it may contain a password. */
  readonly url: string
  /** Connections at most. */
  readonly pool: number
}

/** Opens and migrates the database. Throws `StartupFailure` with a sentence for the operator. */
export function openStorage(location: StorageLocation): Promise<Storage> {
  return location.engine === 'sqlite' ? openSqlite(location.path) : openPostgres(location.url, location.pool)
}

/** Every migration in order, and whether the database has it. Only reads. Throws `StartupFailure` as `openStorage` does. */
export function migrationsAt(location: StorageLocation): Promise<MigrationState[]> {
  return location.engine === 'sqlite' ? migrationsOfSqlite(location.path) : migrationsOfPostgres(location.url)
}

/** Whether Waymark's database is there already; `openStorage` makes it otherwise. */
export async function isThere(location: StorageLocation): Promise<boolean> {
  if (location.engine === 'sqlite') return existsSync(location.path)
  return (await migrationsOfPostgres(location.url)).some(({ isApplied }) => isApplied)
}

/** The location in a sentence to the operator. */
export function placeOf(location: StorageLocation): string {
  return location.engine === 'sqlite' ? location.path : placeOfPostgres(location.url)
}
