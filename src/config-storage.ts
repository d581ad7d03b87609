/**
 * Where the records are.
 */
import { brokenEncoding, integerFrom, type Read } from './config-reading.ts'
import type { StorageLocation } from './storage/location.ts'

/** Reads the location of the database, and how many connections it gets. */
export function readLocation(read: Read): StorageLocation {
  const pool = read('DATABASE_POOL', '10', integerFrom(1, 100))
  return read('DATABASE_URL', 'sqlite:data/waymark.db', (text) => storageLocation(text, pool))
}

function storageLocation(text: string, pool: number): StorageLocation {
  if (/^postgres(ql)?:/i.test(text)) return { engine: 'postgres', url: postgresUrl(text), pool }
  const path = /^sqlite:(.+)$/.exec(text)?.[1] ?? ''
  // Two slashes would begin the name of a host, which no file has; `file:` would be read as a URL, options and all.
  const isFile = path !== '' && !/^(\/\/(?!\/)|file:|:memory:$)|[\p{Cc}]/iu.test(path)
  if (isFile) return { engine: 'sqlite', path: path.replace(/^\/+/, '/') }
  throw new Error(
    'must name a database file, such as sqlite:data/waymark.db or sqlite:/var/lib/waymark/waymark.db, or a PostgreSQL database, such as postgres://user:password@host/waymark.',
  )
}

/**
 * Whether TLS is used, and the server's certificate verified, is never left to chance. What libpq means by the others
 * ("if there is a certificate", "whoever signed it") can be had with `uselibpqcompat=true`.
 */
const sslModes = ['disable', 'no-verify', 'require', 'verify-full']

/** A misspelt one would leave the connection in the clear. */
const tlsParameters = new Set('ssl sslmode sslcert sslkey sslrootcert sslpassword sslnegotiation'.split(' '))

/** The text is never repeated: it may contain a password. */
function postgresUrl(url: string): string {
  const parts = /[\s\p{Cc}]/u.test(url) ? null : URL.parse(url)
  // A "#" or a second "@" is one of the password, which is read as something else.
  const isPlain = /^[^#@]*@?[^#@]*$/.test(url.replace(/\?.*/s, '')) && !brokenEncoding.test(url)
  const isNamed = parts !== null && isPlain && /^\/[^/]+$/.test(parts.pathname)
  const strange = [...(parts?.searchParams.keys() ?? [])].find((name) => /^ssl/i.test(name) && !tlsParameters.has(name))
  if (isNamed && strange !== undefined) throw new Error(`has an unknown parameter, ${strange}.`)
  const { sslmode, uselibpqcompat } = Object.fromEntries(parts?.searchParams ?? [])
  if (isNamed && sslmode && !sslModes.includes(sslmode) && uselibpqcompat !== 'true') {
    throw new Error(`has an sslmode that is none of ${sslModes.join(', ')}.`)
  }
  if (isNamed) return url
  throw new Error(
    'must name a PostgreSQL database as postgres://user:password@host:5432/database; characters of the password such as "@", "/" and "%" are percent-encoded.',
  )
}
