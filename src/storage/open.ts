import { existsSync } from 'node:fs'
import type { Copies } from './copies.ts'
import { placeOfPostgres, type StorageLocation } from './location.ts'
import type { MigrationState } from './migrate.ts'
import type { BatchWriter, Storage } from './port.ts'
import { ownTools } from './postgres/own-tools.ts'
import { sqliteCopies } from './sqlite/copies.ts'

/** Opens and migrates the database. Throws `StartupFailure` with a sentence for the operator. */
export async function openStorage(location: StorageLocation): Promise<Storage> {
  if (location.engine === 'sqlite') return (await sqlite()).openSqlite(location.path)
  return (await postgres()).openPostgres(location.url, location.pool)
}

/** Opens another connection to a migrated database. */
export async function openBatchWriter(location: StorageLocation): Promise<BatchWriter> {
  if (location.engine === 'sqlite') {
    return (await import('./sqlite/batch-writer.ts')).openSqliteBatchWriter(location.path)
  }
  return (await import('./postgres/batch-writer.ts')).openPostgresBatchWriter(location.url)
}

/** Returns the migrations in order, and whether each has been applied. Only reads. Throws `StartupFailure`. */
export async function migrationsAt(location: StorageLocation): Promise<MigrationState[]> {
  if (location.engine === 'sqlite') return (await sqlite()).migrationsOfSqlite(location.path)
  return (await postgres()).migrationsOfPostgres(location.url)
}

/** Returns whether Waymark's database exists. Otherwise, `openStorage` creates it. */
export async function isThere(location: StorageLocation): Promise<boolean> {
  if (location.engine === 'sqlite') return existsSync(location.path)
  return (await migrationsAt(location)).some(({ isApplied }) => isApplied)
}

/** Returns the functions that back up and restore the database. */
export function copiesOf(location: StorageLocation): Copies {
  return location.engine === 'sqlite' ? sqliteCopies(location.path) : ownTools(location.url)
}

/** Returns the location for messages to the operator. */
export function placeOf(location: StorageLocation): string {
  return location.engine === 'sqlite' ? location.path : placeOfPostgres(location.url)
}

// Loaded on demand, because an engine is a third of the code that a process loads.
const sqlite = () => import('./sqlite/open.ts')
const postgres = () => import('./postgres/open.ts')
