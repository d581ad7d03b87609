/** The server's addresses: the server stores them in the database, and commands read them. */
import type { Kysely } from 'kysely'
import type { Db } from '../storage/port.ts'
import { statement } from '../storage/statement.ts'

/** Where visitors find short links, and where people find the API and the dashboard. */
export interface InstanceAddresses {
  /** The start of every short URL, as a template such as `https://{domain}`. */
  readonly short_url: string
  /** The URL of the API and the dashboard, without a slash at its end. */
  readonly base_url: string
}

/** Both are null until a server has started on the database. */
type StoredAddresses = InstanceAddresses | { readonly [Name in keyof InstanceAddresses]: null }

interface Tables {
  instance: { [Name in keyof InstanceAddresses]: string | null }
}

/** Finds the addresses of the server that started last on this database. */
export async function findAddresses(db: Db): Promise<StoredAddresses> {
  const [row] = await db.all(select, {})
  return row as StoredAddresses
}

/** Stores the addresses of a server that starts. Writes nothing if they are stored already. */
export async function storeAddresses(db: Db, addresses: InstanceAddresses): Promise<void> {
  const stored = await findAddresses(db)
  if (stored.short_url === addresses.short_url && stored.base_url === addresses.base_url) return
  await db.writeOne(update, addresses)
}

const select = statement((db: Kysely<Tables>) => db.selectFrom('instance').select(['short_url', 'base_url']))

const update = statement((db: Kysely<Tables>, { short_url, base_url }: InstanceAddresses) =>
  db.updateTable('instance').set({ short_url, base_url }),
)
