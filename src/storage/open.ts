import type { Storage } from './port.ts'
import { openSqlite } from './sqlite/open.ts'

/** Where the records are kept, as configuration names it. */
export interface StorageLocation {
  readonly engine: 'sqlite'
  /** Path of the database file. */
  readonly path: string
}

/** Opens and migrates the database. Throws `StartupFailure` with a sentence for the operator. */
export function openStorage(location: StorageLocation): Promise<Storage> {
  return openSqlite(location.path)
}
