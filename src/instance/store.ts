/** The server's addresses: the server stores them in the database, and commands read them. */
import type { Db } from '../storage/port.ts'
import { query } from '../storage/schema.ts'

/** Where visitors find short links, and where people find the API and the dashboard. */
export interface InstanceAddresses {
  /** The start of every short URL, as a template such as `https://{domain}`. */
  readonly short_url: string
  /** The URL of the API and the dashboard, without a slash at its end. */
  readonly base_url: string
}

/** Both are null until a server has started on the database. */
type StoredAddresses = InstanceAddresses | { readonly [Name in keyof InstanceAddresses]: null }

/** Finds the addresses of the server that started last on this database. */
export async function findAddresses(db: Db): Promise<StoredAddresses> {
  const [row] = await db.execute(query.selectFrom('instance').select(['short_url', 'base_url']))
  return row as StoredAddresses
}

/** Stores the addresses of a server that starts. Writes nothing if they are stored already. */
export async function storeAddresses(db: Db, { short_url, base_url }: InstanceAddresses): Promise<void> {
  const stored = await findAddresses(db)
  if (stored.short_url === short_url && stored.base_url === base_url) return
  await db.execute(query.updateTable('instance').set({ short_url, base_url }))
}
