/**
 * The storage engine of the tests in this process. Tests that open their database here run on SQLite, and on PostgreSQL with
 * `TEST_ENGINE=postgres`. The files `*on-postgres.isolated.test.ts` run some of them again on PostgreSQL.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openStorage } from '../src/storage/open.ts'
import type { Storage, StorageLocation } from '../src/storage/port.ts'
import { execute, patientUrl } from './postgres.ts'
import { borrowDatabase } from './postgres-database.ts'

type Engine = StorageLocation['engine']

let chosen: Engine = process.env.TEST_ENGINE === 'postgres' ? 'postgres' : 'sqlite'

/** Chooses the engine. Call it before anything is opened. */
export function useEngine(engine: Engine): void {
  chosen = engine
}

/** Registers work for the end of a test. */
export type Later = (work: () => unknown) => void

/** Returns a migrated, empty database that no other test uses until `later`. */
export async function newLocation(later: Later, engine = chosen): Promise<StorageLocation> {
  if (engine === 'postgres') {
    const { release, ...location } = await borrowDatabase()
    later(release)
    return { ...location, url: patientUrl(location.url) }
  }
  const folder = await mkdtemp(join(tmpdir(), 'waymark-'))
  later(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'test.db')
  await copyMigrated(path)
  return { engine, path }
}

/** The path of a migrated, empty database. */
let migrated: Promise<string> | undefined

/** Copies a migrated, empty database, and makes it another instance. Migrating takes ten times as long. */
async function copyMigrated(path: string): Promise<void> {
  migrated ??= migrateOnce()
  await copyFile(await migrated, path)
  using database = new DatabaseSync(path)
  database.exec('update instance set database_id = lower(hex(randomblob(16))), challenge_key = randomblob(32)')
}

async function migrateOnce(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'waymark-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'migrated.db')
  await (await openStorage({ engine: 'sqlite', path })).close()
  return path
}

/** Opens such a database, and closes it `later`. */
export async function newStorage(later: Later, engine = chosen): Promise<Storage> {
  const storage = await openStorage(await newLocation(later, engine))
  later(() => storage.close())
  return storage
}

/** Runs statements on a database. */
export async function executeAt(location: StorageLocation, text: string): Promise<void> {
  if (location.engine === 'postgres') {
    await execute(location.url, text)
  } else {
    using database = new DatabaseSync(location.path)
    database.exec(text)
  }
}
