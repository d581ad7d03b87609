/** A configured database. */
export type StorageLocation = { readonly engine: 'sqlite'; readonly path: string } | PostgresLocation

export interface PostgresLocation {
  readonly engine: 'postgres'
  /** A `postgres://` URL as libpq accepts it, which may contain a password. */
  readonly url: string
  readonly pool: number
}

/** Returns the host and database name of a URL, for messages. */
export function placeOfPostgres(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host || 'localhost'}${pathname}`
}
