import type { Storage } from './port.ts'
import { openPostgres } from './postgres/open.ts'
import { openSqlite } from './sqlite/open.ts'

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
