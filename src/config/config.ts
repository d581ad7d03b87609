/** The configuration. No other folder reads the environment. */
import type { SinkConfig } from '../analytics/sink/open.ts'
import { domainMark } from '../names/short-url.ts'
import type { StorageLocation } from '../storage/location.ts'
import { type ListenerConfig, type ListenerName, localUrlOf, readListeners } from './listeners.ts'
import { type Environment, type Read, readVariables, unknownVariableWarnings } from './variables.ts'

export type Config = Readonly<ReturnType<typeof readConfig>>

/** Reads the configuration. `checkGeoipDb` may throw. Throws `StartupFailure` with one line for each invalid variable. */
export function readConfig(env: Environment = process.env, checkGeoipDb: (path: string) => void = () => {}) {
  const config = readVariables(env, (read) => {
    const { listeners, workers } = readListeners(read)
    const storage = readLocation(read)
    return {
      listeners,
      workers,
      storage,
      /** Public URL in responses, without a trailing slash; null to take it from each request. */
      baseUrl: read('BASE_URL'),
      /** Template of short URLs, such as `https://{domain}`. */
      shortUrl: read('SHORT_URL') ?? directShortUrl(listeners),
      clicksSink: readClicksSink(read, storage, workers),
      /** Seconds for which cached links are served while the database is down. */
      staleFor: read('STALE_FOR'),
      /** Days for which click breakdowns are retained; 0 for no limit. */
      clicksRetention: read('CLICKS_RETENTION'),
      corsOrigins: read('CORS_ORIGINS'),
      /** API key to register at the first start; null to generate one. */
      bootstrapKey: read('BOOTSTRAP_KEY'),
      /** Requests per minute and key; 0 for no limit. */
      rateLimit: read('RATE_LIMIT'),
      trustProxy: read('TRUST_PROXY'),
      logLevel: read('LOG_LEVEL'),
      /** Connections of the API server, and of the redirect server. */
      maxConnections: read('MAX_CONNECTIONS'),
      /** Path of a country database; null for the bundled one. */
      geoipDb: read('GEOIP_DB', (path) => path !== null && checkGeoipDb(path)),
      /** Header, in lower case, in which a proxy sends the visitor's country; null if there is none. */
      countryHeader: read('COUNTRY_HEADER'),
    }
  })
  return { ...config, warnings: unknownVariableWarnings(Object.keys(env)) }
}

/** Reads only the location of the database, for commands. Throws `StartupFailure`. */
export function readStorageLocation(env: Environment = process.env): StorageLocation {
  return readVariables(env, readLocation)
}

/** Reads the template of short URLs for commands: `SHORT_URL`, the server's `stored` template, or the default. */
export function readShortUrlTemplate(stored: string | null): string {
  return readVariables(
    process.env,
    (read) => read('SHORT_URL') ?? stored ?? directShortUrl(readListeners(read).listeners),
  )
}

/** Reads the dashboard's URL for commands: `BASE_URL`, the server's `stored` URL, or its own; null if the port is 0. */
export function readOwnUrl(stored: string | null): string | null {
  return readVariables(process.env, (read) => {
    const known = read('BASE_URL') ?? stored
    if (known !== null) return known
    const api = readListeners(read).listeners.find(({ name }) => name === 'api')
    return api === undefined || api.port === 0 ? null : localUrlOf(api)
  })
}

/** Reads which listener a health check asks: the ops listener or, if `OPS_PORT=0` turns it off, the API. */
export function readHealthListener(): ListenerConfig {
  const { listeners } = readVariables(process.env, readListeners)
  const named = (wanted: ListenerName) => listeners.find(({ name }) => name === wanted)
  return named('ops') ?? (named('api') as ListenerConfig)
}

function readLocation(read: Read): StorageLocation {
  const location = read('DATABASE_URL')
  const pool = read('DATABASE_POOL')
  return location?.engine === 'postgres' ? { ...location, pool } : location
}

/** Reads the sink; null if there is none. The processes share the limit of the spool. */
function readClicksSink(read: Read, storage: StorageLocation | undefined, workers: number): SinkConfig | null {
  const target = read('CLICKS_SINK')
  const defaultSpool = storage?.engine === 'sqlite' ? `${storage.path}-clicks-spool` : 'data/clicks-spool'
  const spool = read('CLICKS_SPOOL') ?? defaultSpool
  const megabytes = read('CLICKS_SPOOL_MAX')
  return target && { target, spool, spoolBytes: Math.floor((megabytes * 1_000_000) / workers) }
}

/** Returns the template of URLs that reach the redirect server without a proxy. */
function directShortUrl(listeners: readonly ListenerConfig[]): string {
  const port = listeners.find(({ name }) => name === 'redirect')?.port ?? 80
  return `http://${domainMark}${port === 80 ? '' : `:${port}`}`
}
