/** A configured database. */
export type StorageLocation = SqliteLocation | PostgresLocation

export interface SqliteLocation {
  readonly engine: 'sqlite'
  /** Path of the database file. */
  readonly path: string
}

export interface PostgresLocation {
  readonly engine: 'postgres'
  /** A `postgres://` URL as libpq accepts it, which may contain a password. */
  readonly url: string
  /** The maximum number of connections. */
  readonly pool: number
}

/** Returns the host and database name of a URL, for messages. */
export function placeOfPostgres(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host || 'localhost'}${pathname}`
}
