/** The identity of the database, and the server's URLs, which the server stores and commands read. */

import { createHash } from 'node:crypto'
import type { Db } from '../storage/port.ts'
import { query, type Row } from '../storage/schema.ts'

/** The template of short URLs, and the URL of the dashboard. Both are null before the first start of a server. */
export type InstanceUrls = Readonly<Pick<Row<'instance'>, 'short_url' | 'base_url'>>

/** Finds the URLs of the server that started last. */
export async function findInstanceUrls(db: Db): Promise<InstanceUrls> {
  const [row] = await db.execute(query.selectFrom('instance').select(['short_url', 'base_url']))
  return row as InstanceUrls
}

/** Stores the URLs at the start of the server if they have changed. */
export async function storeInstanceUrls(db: Db, { short_url, base_url }: InstanceUrls): Promise<void> {
  const stored = await findInstanceUrls(db)
  if (stored.short_url === short_url && stored.base_url === base_url) return
  await db.execute(query.updateTable('instance').set({ short_url, base_url }))
}

/** Returns this database's id, which only copies share. */
export async function databaseId(db: Db): Promise<string> {
  const [instance] = await db.execute(query.selectFrom('instance').select('database_id'))
  return instance?.database_id as string
}

/** The path of the fingerprint on every domain of the instance. */
export const fingerprintPath = '.well-known/waymark'

/** Returns the fingerprint for a database id: 22 base64url characters that do not reveal the id. */
export function fingerprintOfInstance(databaseId: string): string {
  return createHash('sha256').update(`waymark instance ${databaseId}`).digest('base64url').slice(0, 22)
}
