import type { PostgresLocation, StorageLocation } from '../storage/port.ts'
import { brokenEncoding } from './parsers.ts'

/** Parameters that `pg` or our pool reads. Both ignore other parameters, even if libpq knows them. */
const parameters = [
  'application_name',
  'connect_timeout',
  'fallback_application_name',
  'host',
  'idle_in_transaction_session_timeout',
  'lock_timeout',
  'options',
  'password',
  'port',
  'query_timeout',
  'ssl',
  'sslcert',
  'sslkey',
  'sslmode',
  'sslnegotiation',
  'sslrootcert',
  'statement_timeout',
  'user',
  'uselibpqcompat',
]

/** Modes that settle whether to encrypt and whether to verify the server's certificate. */
const sslModes = ['disable', 'no-verify', 'require', 'verify-ca', 'verify-full']
/** Modes that may silently skip encryption. `uselibpqcompat=true` allows them. */
const vagueSslModes = ['allow', 'prefer']

/** Values of `ssl` that `pg` reads. Others make it end the process while connecting, or turn off encryption. */
const sslValues = ['true', 'no-verify', '1', '0']

/** Parses a database URL. Returns the location without the pool size. */
export function parseDatabaseUrl(
  text: string,
): Exclude<StorageLocation, PostgresLocation> | Omit<PostgresLocation, 'pool'> {
  if (/^postgres(ql)?:/i.test(text)) return { engine: 'postgres', url: checkPostgresUrl(text) }
  const path = /^sqlite:(.+)$/.exec(text)?.[1] ?? ''
  if (isFilePath(path)) return { engine: 'sqlite', path: path.replace(/^\/+/, '/') }
  // Without a colon or an at sign, the text can't contain a password.
  if (isFilePath(text) && !/[:@]/.test(text))
    throw new Error(`must begin with sqlite: or postgres://. Write sqlite:${text}.`)
  throw new Error(
    'must be a database file, such as sqlite:data/waymark.db or sqlite:/var/lib/waymark/waymark.db, or a PostgreSQL database, such as postgres://user:password@host/waymark.',
  )
}

/** Rejects `//host/…` and `file:`, which SQLite would read as a URL with options. */
function isFilePath(path: string): boolean {
  return path !== '' && !/^(\/\/(?!\/)|file:|:memory:$)|[\p{Cc}]/iu.test(path)
}

/** Returns the URL unchanged if it is valid. Errors never contain a part that may be a password. */
export function checkPostgresUrl(url: string): string {
  if (hasSeveralHosts(url)) {
    throw new Error('has several hosts, which is not supported. Use one address that always reaches the primary.')
  }
  const parsed = /[\s\p{Cc}]/u.test(url) ? null : URL.parse(url)
  // A "#" or a second "@" belongs to a password that is not percent-encoded.
  const isPlain = /^[^#@]*@?[^#@]*$/.test(url.replace(/\?.*/s, '')) && !brokenEncoding.test(url)
  const unknown = [...(parsed?.searchParams.keys() ?? [])].find((name) => !parameters.includes(name))
  // An "@" after an unknown parameter means that the parameters start with a "?" of the password.
  const isQueryPlain = unknown === undefined || !/[?].*@/s.test(url)
  if (parsed === null || !isPlain || !isQueryPlain || !/^\/[^/]+$/.test(parsed.pathname)) {
    throw new Error(
      'must have the form postgres://user:password@host:5432/database. Percent-encode special characters in the password, such as "@", "/" and "%".',
    )
  }
  if (unknown === 'target_session_attrs') {
    throw new Error(
      'has an unsupported parameter: target_session_attrs. Use one address that always reaches the primary.',
    )
  }
  if (unknown !== undefined) {
    // The name may be a part of a password with an "&".
    const name = /^\w{1,40}$/.test(unknown) && !parsed.searchParams.has('password') ? `: ${unknown}` : ''
    throw new Error(`has an unsupported parameter${name}. Supported parameters: ${parameters.join(', ')}.`)
  }
  const repeated = parameters.find((name) => parsed.searchParams.getAll(name).length > 1)
  if (repeated !== undefined) throw new Error(`has the parameter ${repeated} more than once.`)
  if (!/^[1-9]\d{0,3}$/.test(parsed.searchParams.get('connect_timeout') ?? '1')) {
    throw new Error('has an invalid connect_timeout. Use 1 to 9999 seconds.')
  }
  checkTls(Object.fromEntries(parsed.searchParams))
  return url
}

/** Returns whether the host or the port is a list, as libpq allows. */
function hasSeveralHosts(url: string): boolean {
  const hosts = /^\w+:\/\/(?:[^@/?#]*@)?([^@/?#]*)(?:\/[^@/?#]*)?(?:\?[^@#]*)?$/.exec(url)?.[1] ?? ''
  return hosts.includes(',') || /[?&](?:host|port)=[^&@]*(?:,|%2c)[^@]*$/i.test(url)
}

function checkTls({ ssl, sslmode, sslrootcert, uselibpqcompat }: Readonly<Record<string, string>>): void {
  if (ssl !== undefined && !sslValues.includes(ssl)) {
    throw new Error(`has an unknown value for ssl. Use sslmode instead, with one of ${sslModes.join(', ')}.`)
  }
  if (sslmode === undefined) return
  const isVague = vagueSslModes.includes(sslmode)
  if (!isVague && !sslModes.includes(sslmode)) {
    throw new Error(`has an unknown sslmode. Use one of ${sslModes.join(', ')}.`)
  }
  if (isVague && uselibpqcompat !== 'true') {
    throw new Error(
      `has sslmode=${sslmode}, which may leave the connection unencrypted. Use one of ${sslModes.join(', ')}.`,
    )
  }
  if (sslmode === 'verify-ca' && !sslrootcert) {
    throw new Error('has sslmode=verify-ca without sslrootcert=FILE. Add the CA certificate, or use verify-full.')
  }
}
