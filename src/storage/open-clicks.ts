import type { ClickConnection } from './clicks/tables.ts'
import type { StorageLocation } from './location.ts'

/** Opens the tables of clicks of a database that has been migrated, on a connection of their own. */
export async function openClicks(location: StorageLocation): Promise<ClickConnection> {
  if (location.engine === 'sqlite') {
    return (await import('./sqlite/clicks/connection.ts')).openSqliteClicks(location.path)
  }
  return (await import('./postgres/clicks/connection.ts')).openPostgresClicks(location.url)
}
