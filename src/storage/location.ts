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
