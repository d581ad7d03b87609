/**
 * The only reader of the environment. Every mistake is named at once, each in a sentence.
 */
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { StartupFailure } from './errors.ts'
import { isWellFormedKey } from './keys/key.ts'
import type { StorageLocation } from './storage/open.ts'

/** What can listen, and how: in the order in which it starts. */
const declaredListeners = [
  { name: 'api', prefix: '', host: '127.0.0.1', port: 3000, isPerWorker: false, isOptional: false },
  { name: 'ops', prefix: 'OPS_', host: '127.0.0.1', port: 3090, isPerWorker: true, isOptional: true },
] as const

export type ListenerName = (typeof declaredListeners)[number]['name']

/** Where a listener listens. */
export interface Place {
  readonly name: ListenerName
  /** How its variables begin: `OPS_` for `OPS_HOST` and `OPS_PORT`. */
  readonly prefix: string
  readonly host: string
  /** 0 for any that is free. */
  readonly port: number
  /** Whether each worker has a port of its own, one after the other; otherwise the workers share the port. */
  readonly isPerWorker: boolean
}

export interface Config {
  /** Those that are turned on. */
  readonly listeners: readonly Place[]
  readonly storage: StorageLocation
  /** Public address for links, without a slash at its end; null: taken from each request. */
  readonly baseUrl: string | null
  /** The origins whose pages may use the API from a browser: any (`*`), or these. */
  readonly corsOrigins: '*' | readonly string[]
  /** The key to register at the first start; null: one is made. */
  readonly bootstrapKey: string | null
  /** Requests a minute for each key; 0: no limit. */
  readonly rateLimit: number
  /** The proxies whose `X-Forwarded-*` headers are believed: none, this many in a row, or those at these addresses. */
  readonly trustProxy: false | number | string[]
  readonly logLevel: string
  /** Connections that a process serves at once. */
  readonly maxConnections: number
  /** Processes that answer requests. */
  readonly workers: number
}

type Environment = Readonly<Record<string, string | undefined>>

/** Reads the configuration. Throws `StartupFailure` that names every mistake, a line each. */
export function readConfig(env: Environment = process.env): Config {
  return readAll(env, (read) => ({
    ...readListeners(read),
    storage: readLocation(read),
    baseUrl: read('BASE_URL', '', baseUrl),
    corsOrigins: read('CORS_ORIGINS', '', corsOrigins),
    bootstrapKey: read('BOOTSTRAP_KEY', '', bootstrapKey),
    rateLimit: read('RATE_LIMIT', '6000', integerFrom(0, 1_000_000_000)),
    trustProxy: read('TRUST_PROXY', 'off', trustProxy),
    logLevel: read('LOG_LEVEL', 'info', oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])),
    maxConnections: read('MAX_CONNECTIONS', '10000', integerFrom(1, 1_000_000)),
  }))
}

/** Reads where the records are, and nothing else: the command line is none of the server's other business. */
export function readStorageLocation(env: Environment = process.env): StorageLocation {
  return readAll(env, readLocation)
}

type Read = <T>(name: string, fallback: string, parse: (text: string) => T) => T

/** Lets `work` read variables. Throws `StartupFailure` with a sentence for each of them that is wrong. */
function readAll<T>(env: Environment, work: (read: Read) => T): T {
  const mistakes: string[] = []
  const result = work((name, fallback, parse) => {
    try {
      return parse(textOf(env, name) ?? fallback)
    } catch (error) {
      mistakes.push(`${name} ${(error as Error).message}`)
      return undefined as never
    }
  })
  if (mistakes.length > 0) throw new StartupFailure(mistakes.join('\n'))
  return result
}

/** The variable's text, or that of the file that `NAME_FILE` names; undefined when neither is set to anything. */
function textOf(env: Environment, name: string): string | undefined {
  const direct = env[name]?.trim()
  const path = env[`${name}_FILE`]?.trim()
  if (!path) return direct || undefined
  if (direct) throw new Error(`and ${name}_FILE are both set: set one of them.`)
  const text = contentOf(path, name).trim()
  // A secret that was not filled in must not become the default.
  if (text === '') throw new Error(`cannot be read from the file that ${name}_FILE names: it is empty.`)
  return text
}

function contentOf(path: string, name: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Error(`cannot be read from the file that ${name}_FILE names: ${(error as Error).message}.`)
  }
}

function hostName(text: string): string {
  const name = /^\[([\da-f:.]+)\]$/i.exec(text)?.[1] ?? text
  if (isIP(name) !== 0 || /^[\w-]+(\.[\w-]+)*\.?$/.test(name)) return name
  throw new Error('must be an address to listen on, such as 127.0.0.1 or 0.0.0.0.')
}

function integerFrom(least: number, most: number): (text: string) => number {
  return (text) => {
    if (/^(0|[1-9]\d{0,9})$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text)
    throw new Error(`must be an integer from ${least} to ${most}, not "${text.slice(0, 40)}".`)
  }
}

function readListeners(read: Read): Pick<Config, 'listeners' | 'workers'> {
  const workers = read('WORKERS', '1', integerFrom(1, 64))
  const places: Place[] = []
  for (const { isOptional, ...declared } of declaredListeners.toReversed()) {
    const { prefix, isPerWorker } = declared
    const host = read(`${prefix}HOST`, declared.host, hostName)
    const port = read(`${prefix}PORT`, String(declared.port), (text) => {
      const port = integerFrom(0, isPerWorker ? 65_536 - (workers ?? 1) : 65_535)(text)
      const other = places.find((place) => mayMeet(place, { host, port, isPerWorker }, workers))
      if (other === undefined) return port
      const name = `${other.prefix}PORT`
      const taken = other.isPerWorker && workers > 1 ? `one of the ${workers} ports that begin with ${name}` : name
      throw new Error(`must not be ${taken}, ${other.port}: choose another one.`)
    })
    if (port > 0 || !isOptional) places.unshift({ ...declared, host, port })
  }
  return { listeners: places, workers }
}

type Ports = Pick<Place, 'host' | 'port' | 'isPerWorker'>

/** Whether two listeners could want the same port of the same address. A variable that is wrong meets nothing. */
function mayMeet(one: Ports, other: Ports, workers: number): boolean {
  const hosts = [one.host, other.host].map((name) => (name === 'localhost' ? '127.0.0.1' : name))
  const share = hosts.some((name) => /^(0\.0\.0\.0|::)$/.test(name)) || hosts[0] === hosts[1]
  const end = ({ port, isPerWorker }: Ports) => port + (isPerWorker ? workers : 1)
  return share && one.port > 0 && other.port > 0 && one.port < end(other) && other.port < end(one)
}

function readLocation(read: Read): StorageLocation {
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

const brokenEncoding = /%(?![\da-f]{2})/i

function baseUrl(text: string): string | null {
  if (text === '') return null
  const isPlain = /^https?:\/\/[^/?#\s\\@]+\/?$/i.test(text) && !brokenEncoding.test(text)
  const url = isPlain ? URL.parse(text) : null
  // As the parser writes it: in ASCII, so that it may stand in headers.
  if (url !== null) return url.origin
  throw new Error(
    'must be an http or https URL without a path, query or fragment, such as https://links.example.com: a proxy that strips a path is not supported.',
  )
}

function corsOrigins(text: string): '*' | readonly string[] {
  if (text === '') return []
  if (text === '*') return text
  const origins = text.split(',').map((origin) => origin.trim())
  const wrong = origins.find((origin) => URL.parse(origin)?.origin !== origin)
  if (wrong === undefined) return origins
  throw new Error(
    `must be "*", or origins such as https://app.example.com, separated by commas: scheme, host and port in lower case, without a path. "${wrong.slice(0, 100)}" is none.`,
  )
}

function bootstrapKey(text: string): string | null {
  if (text === '') return null
  if (isWellFormedKey(text)) return text
  throw new Error('is not a well-formed API key: "wm_" and 49 letters and digits, the last 6 of them a checksum.')
}

function trustProxy(text: string): false | number | string[] {
  if (/^(off|false|no|0)$/i.test(text)) return false
  if (/^(on|true|yes)$/i.test(text)) return 1
  if (/^[1-9]\d?$/.test(text)) return Number(text)
  const addresses = text.split(',').map((address) => address.trim())
  if (addresses.every(isNetwork)) return addresses
  throw new Error('must be "off", "on" (one proxy), the number of proxies, or their addresses, separated by commas.')
}

/** An address, a network in CIDR notation, or one of the names that `@fastify/proxy-addr` knows networks by. */
function isNetwork(text: string): boolean {
  if (/^(loopback|linklocal|uniquelocal)$/.test(text)) return true
  const [address = '', prefix, ...more] = text.split('/')
  const bits = { 4: 32, 6: 128 }[isIP(address)]
  if (bits === undefined || more.length > 0) return false
  return prefix === undefined || (/^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= bits)
}

function oneOf(allowed: readonly string[]): (text: string) => string {
  return (text) => {
    if (allowed.includes(text)) return text
    throw new Error(`must be one of ${allowed.join(', ')}.`)
  }
}
