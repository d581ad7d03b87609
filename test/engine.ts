/**
 * The storage engine of the tests in this process. Tests that open their database here run on SQLite, and on PostgreSQL with
 * `TEST_ENGINE=postgres`. The files `*on-postgres.isolated.test.ts` run some of them again on PostgreSQL.
 */
import { mkdtemp, rm } from 'node:fs/promises'
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
  return { engine, path: join(folder, 'test.db') }
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
