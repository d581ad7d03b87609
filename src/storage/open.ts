import { existsSync } from 'node:fs'
import type { Copies } from './copies.ts'
import type { StorageLocation } from './location.ts'
import type { MigrationState } from './migrate.ts'
import type { BatchWriter, Storage } from './port.ts'
import { ownTools } from './postgres/own-tools.ts'
import { placeOfPostgres } from './postgres/place.ts'
import { sqliteCopies } from './sqlite/copies.ts'

/** Opens and migrates the database. Throws `StartupFailure` with a sentence for the operator. */
export async function openStorage(location: StorageLocation): Promise<Storage> {
  if (location.engine === 'sqlite') return (await sqlite()).openSqlite(location.path)
  return (await postgres()).openPostgres(location.url, location.pool)
}

/** Opens another connection to a database that has been migrated. */
export async function openBatchWriter(location: StorageLocation): Promise<BatchWriter> {
  if (location.engine === 'sqlite') {
    return (await import('./sqlite/batch-writer.ts')).openSqliteBatchWriter(location.path)
  }
  return (await import('./postgres/batch-writer.ts')).openPostgresBatchWriter(location.url)
}

/**
 * Every migration in order, and whether the database has it. Only reads. Throws `StartupFailure` as `openStorage` does.
 */
export async function migrationsAt(location: StorageLocation): Promise<MigrationState[]> {
  if (location.engine === 'sqlite') return (await sqlite()).migrationsOfSqlite(location.path)
  return (await postgres()).migrationsOfPostgres(location.url)
}

/** Whether Waymark's database is there already; `openStorage` makes it otherwise. */
export async function isThere(location: StorageLocation): Promise<boolean> {
  if (location.engine === 'sqlite') return existsSync(location.path)
  return (await migrationsAt(location)).some(({ isApplied }) => isApplied)
}

/** Whole copies of the database, by the means of its engine. */
export function copiesOf(location: StorageLocation): Copies {
  return location.engine === 'sqlite' ? sqliteCopies(location.path) : ownTools(location.url)
}

/** The location in a sentence to the operator. */
export function placeOf(location: StorageLocation): string {
  return location.engine === 'sqlite' ? location.path : placeOfPostgres(location.url)
}

// An engine is loaded once it is known to be the one: a third of what a process loads comes with it.
const sqlite = () => import('./sqlite/open.ts')
const postgres = () => import('./postgres/open.ts')
