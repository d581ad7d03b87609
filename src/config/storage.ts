/**
 * Where the records are.
 */

import type { StorageLocation } from '../storage/location.ts'
import { readPostgresUrl } from './postgres.ts'
import { integerFrom, type Read } from './read.ts'

/** Reads the location of the database, and how many connections it gets. */
export function readLocation(read: Read): StorageLocation {
  const pool = read('DATABASE_POOL', '10', integerFrom(1, 100))
  return read('DATABASE_URL', 'sqlite:data/waymark.db', (text) => storageLocation(text, pool))
}

function storageLocation(text: string, pool: number): StorageLocation {
  if (/^postgres(ql)?:/i.test(text)) return { engine: 'postgres', url: readPostgresUrl(text), pool }
  const path = /^sqlite:(.+)$/.exec(text)?.[1] ?? ''
  // Two slashes would begin the name of a host, which no file has; `file:` would be read as a URL, options and all.
  const isFile = path !== '' && !/^(\/\/(?!\/)|file:|:memory:$)|[\p{Cc}]/iu.test(path)
  if (isFile) return { engine: 'sqlite', path: path.replace(/^\/+/, '/') }
  throw new Error(
    'must name a database file, such as sqlite:data/waymark.db or sqlite:/var/lib/waymark/waymark.db, or a PostgreSQL database, such as postgres://user:password@host/waymark.',
  )
}
