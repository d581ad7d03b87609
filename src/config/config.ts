/**
 * The configuration, from the environment, which nothing else reads. Every mistake is named at once, each in a sentence.
 */
import { isIP } from 'node:net'
import type { SinkConfig } from '../clicks/sink/open.ts'
import { isWellFormedKey } from '../keys/key.ts'
import type { StorageLocation } from '../storage/location.ts'
import { type Listeners, localUrlOf, type Place, readListeners } from './listeners.ts'
import { brokenEncoding, type Environment, integerFrom, oneOf, type Read, readAll } from './read.ts'
import { directShortUrl, readShortUrl } from './short-url.ts'
import { readSink } from './sink.ts'
import { readLocation } from './storage.ts'
import { strangersIn } from './unknown-variables.ts'

export interface Config extends Listeners {
  readonly storage: StorageLocation
  /** Public address for links, without a slash at its end; null: taken from each request. */
  readonly baseUrl: string | null
  /** How short URLs begin: a template such as `https://{domain}`, where `{domain}` stands for the name. */
  readonly shortUrl: string
  /** Where raw clicks go; null: nowhere. */
  readonly clicksSink: SinkConfig | null
  /** Seconds for which links in memory are served on while the database is down. */
  readonly staleFor: number
  /** Days for which the break-downs of clicks are kept; 0: for ever. */
  readonly clicksRetention: number
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
  /** The operator's country database; null: the bundled one. */
  readonly geoipDb: string | null
  /** The header, in lower case, in which a proxy names the visitor's country; null: none does. */
  readonly countryHeader: string | null
  /** A sentence for each variable that is set and not read, although it was probably meant to be. */
  readonly ignored: readonly string[]
}

/**
 * Reads the configuration. Throws `StartupFailure` that names every mistake, a line each. `checkGeoipDb` throws an error that
 * says what is wrong with the file; without it, the file is not looked at.
 */
export function readConfig(env: Environment = process.env, checkGeoipDb: (path: string) => void = () => {}): Config {
  return readAll(env, (read, known) => {
    const listening = readListeners(read)
    const storage = readLocation(read)
    const config = {
      ...listening,
      storage,
      baseUrl: readBaseUrl(read),
      shortUrl: readShortUrl(read) ?? directShortUrl(listening.listeners),
      clicksSink: readSink(read, storage, listening.workers),
      staleFor: read('STALE_FOR', '3600', integerFrom(0, 31_536_000)),
      clicksRetention: read('CLICKS_RETENTION', '730', integerFrom(0, 36_500)),
      corsOrigins: read('CORS_ORIGINS', '', corsOrigins),
      bootstrapKey: read('BOOTSTRAP_KEY', '', bootstrapKey),
      rateLimit: read('RATE_LIMIT', '6000', integerFrom(0, 1_000_000_000)),
      trustProxy: read('TRUST_PROXY', 'off', trustProxy),
      logLevel: read('LOG_LEVEL', 'info', oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])),
      maxConnections: read('MAX_CONNECTIONS', '10000', integerFrom(1, 1_000_000)),
      geoipDb: read('GEOIP_DB', '', (text) => {
        if (text !== '') checkGeoipDb(text)
        return text || null
      }),
      countryHeader: read('COUNTRY_HEADER', '', countryHeader),
    }
    return { ...config, ignored: strangersIn(Object.keys(env), known) }
  })
}

/** Reads where the records are, and nothing else: the command line is none of the server's other business. */
export function readStorageLocation(env: Environment = process.env): StorageLocation {
  return readAll(env, readLocation)
}

/**
 * Reads the template of short URLs, for the command line: `SHORT_URL`, or else the `stored` template of the server.
 * Without either, returns the template of a server in this environment. Throws `StartupFailure`.
 */
export function readShortUrlTemplate(stored: string | null, env: Environment = process.env): string {
  return readAll(env, (read) => readShortUrl(read) ?? stored ?? directShortUrl(readListeners(read).listeners))
}

/**
 * Reads the URL of the API and the dashboard, for the command line: `BASE_URL`, or else the `stored` URL of the server.
 * Without either, returns the URL of a server in this environment; null if it would take any free port. Throws
 * `StartupFailure`.
 */
export function readOwnUrl(stored: string | null, env: Environment = process.env): string | null {
  return readAll(env, (read) => {
    const known = readBaseUrl(read) ?? stored
    if (known !== null) return known
    const api = readListeners(read).listeners.find(({ name }) => name === 'api') as Place
    return api.port === 0 ? null : localUrlOf(api)
  })
}

/** Reads where the ops listener listens; null if `OPS_PORT=0` turns it off. Throws `StartupFailure`. */
export function readOpsPlace(env: Environment = process.env): Place | null {
  const { listeners } = readAll(env, readListeners)
  return listeners.find(({ name }) => name === 'ops') ?? null
}

function readBaseUrl(read: Read): string | null {
  return read('BASE_URL', '', baseUrl)
}

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

function countryHeader(text: string): string | null {
  if (text === '') return null
  // RFC 9110 §5.1, §5.6.2.
  if (/^[!#$%&'*+.^_`|~\w-]{1,100}$/.test(text)) return text.toLowerCase()
  throw new Error('must be the name of a header, such as CF-IPCountry.')
}

function trustProxy(text: string): false | number | string[] {
  if (/^(off|0)$/i.test(text)) return false
  if (/^on$/i.test(text)) return 1
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
