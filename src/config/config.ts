/** The configuration. No other folder reads the environment. */

import { isIPv6 } from 'node:net'
import type { SinkConfig } from '../analytics/sink/open.ts'
import type { ProofHosts } from '../imports/old-service.ts'
import { domainMark } from '../names/short-url.ts'
import type { OidcConfig } from '../sign-in/oidc/config.ts'
import type { StorageLocation } from '../storage/port.ts'
import { integer } from './parsers.ts'
import { type Environment, type Read, readVariables, unknownVariableWarnings } from './variables.ts'

export type Config = Readonly<ReturnType<typeof readConfig>>

/** Reads the configuration. `checkGeoipDb` may throw. Throws `StartupFailure` with one line for each invalid variable. */
export function readConfig(env: Environment = process.env, checkGeoipDb: (path: string) => void = () => {}) {
  const config = readVariables(env, (read) => {
    const { listeners, workers } = readListeners(read)
    const storage = readLocation(read)
    const baseUrl = read('BASE_URL')
    return {
      listeners,
      workers,
      storage,
      /** Public URL in responses, without a trailing slash; null to take it from each request. */
      baseUrl,
      /** Template of short URLs, such as `https://{domain}`. */
      shortUrl: read('SHORT_URL') ?? directShortUrl(listeners),
      /** Further schemes of destinations, in lower case. */
      urlSchemes: read('URL_SCHEMES'),
      clicksSink: readClicksSink(read, storage, workers),
      /** Seconds for which cached links are served while the database is down. */
      staleFor: read('STALE_FOR'),
      /** Days for which click breakdowns are retained; 0 for no limit. */
      clicksRetention: read('CLICKS_RETENTION'),
      /** Days for which events are stored; 0 for no limit. */
      historyDays: read('HISTORY_DAYS'),
      /** Null unless people can sign in with OpenID Connect. */
      oidc: readOidc(read, baseUrl),
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
      /** Where the proof of imports sends the requests for hosts. */
      proofHosts: read('PROOF_HOSTS'),
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

/** Reads the further schemes of destinations for commands. Throws `StartupFailure`. */
export function readUrlSchemes(): readonly string[] {
  return readVariables(process.env, (read) => read('URL_SCHEMES'))
}

/** Reads for commands where the proof of imports sends requests. Throws `StartupFailure`. */
export function readProofHosts(): ProofHosts {
  return readVariables(process.env, (read) => read('PROOF_HOSTS'))
}

/** Reads for commands how many days events are stored; 0 for forever. Throws `StartupFailure`. */
export function readHistoryDays(): number {
  return readVariables(process.env, (read) => read('HISTORY_DAYS'))
}

/** Reads the dashboard's URL for commands: `BASE_URL`, the server's `stored` URL, or its own; null if the port is 0. */
export function readOwnUrl(stored: string | null): string | null {
  return readVariables(process.env, (read) => {
    const known = read('BASE_URL') ?? stored
    if (known !== null) return known
    const api = readListeners(read).listeners.find(({ name }) => name === 'api')
    return api === undefined || api.port === 0 ? null : formatLocalUrl(api)
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

/** Reads the configuration of OpenID Connect for commands; null if there is none. Throws `StartupFailure`. */
export function readOidcConfig(): OidcConfig | null {
  return readVariables(process.env, (read) => readOidc(read, read('BASE_URL')))
}

/** Reads all variables of OpenID Connect, so that all errors are reported. `baseUrl` is undefined if it is invalid. */
function readOidc(read: Read, baseUrl: string | null): OidcConfig | null {
  const issuer = read('OIDC_ISSUER', (issuer) => {
    if (issuer !== null && baseUrl === null) throw new Error('needs BASE_URL, the URL of the dashboard. Set both.')
  })
  // An invalid issuer is undefined.
  const checkCompanion = (value: string | null) => {
    if (issuer !== null && value === null) throw new Error('must be set, because OIDC_ISSUER is set.')
  }
  const settings = {
    clientId: read('OIDC_CLIENT_ID', checkCompanion),
    clientSecret: read('OIDC_CLIENT_SECRET', checkCompanion),
    name: read('OIDC_NAME'),
    scopes: read('OIDC_SCOPES'),
    roleClaim: read('OIDC_ROLE_CLAIM'),
    roles: read('OIDC_ROLES'),
    account: read('OIDC_ACCOUNT'),
    sessionLifetimeMs: read('OIDC_SESSION'),
  }
  const { clientId, clientSecret, name, account } = settings
  if (!issuer || !baseUrl || clientId === null || clientSecret === null) return null
  return {
    ...settings,
    ...{ issuer, clientId, clientSecret, baseUrl },
    name: name ?? new URL(issuer).host,
    account: account === null ? null : Number(account),
  }
}

/** Returns the template of URLs that reach the redirect server without a proxy. */
function directShortUrl(listeners: readonly ListenerConfig[]): string {
  const port = listeners.find(({ name }) => name === 'redirect')?.port ?? 80
  return `http://${domainMark}${port === 80 ? '' : `:${port}`}`
}

/** The listeners in the order in which they start. */
const declaredListeners = [
  { name: 'api', prefix: '', isPerWorker: false, isOptional: false },
  { name: 'redirect', prefix: 'REDIRECT_', isPerWorker: false, isOptional: true },
  { name: 'ops', prefix: 'OPS_', isPerWorker: true, isOptional: true },
] as const

export type ListenerName = (typeof declaredListeners)[number]['name']

export interface ListenerConfig {
  readonly name: ListenerName
  /** The prefix of its variables: `OPS_` for `OPS_HOST` and `OPS_PORT`. */
  readonly prefix: string
  readonly host: string
  /** 0 for any free port. */
  readonly port: number
  /** Whether each worker listens on its own port, numbered from `port`. Otherwise all workers share one port. */
  readonly isPerWorker: boolean
}

/** Reads which listeners are enabled, and how many processes serve requests. Ports must not collide. */
function readListeners(read: Read) {
  const workers = read('WORKERS')
  const listeners: ListenerConfig[] = []
  for (const { isOptional, ...declared } of declaredListeners.toReversed()) {
    const { prefix, isPerWorker } = declared
    const host = read(`${prefix}HOST`)
    const port = read(`${prefix}PORT`, (port) => {
      if (isPerWorker) integer(0, 65_536 - (workers ?? 1))(String(port))
      const other = listeners.find((other) => collide(other, { host, port, isPerWorker }, workers))
      if (other === undefined) return
      const name = `${other.prefix}PORT`
      const taken = other.isPerWorker && workers > 1 ? `one of the ${workers} ports from ${name}` : name
      throw new Error(`must not be ${taken}, ${other.port}. Choose another port.`)
    })
    if (port > 0 || !isOptional) listeners.unshift({ ...declared, host, port })
  }
  return { listeners, workers }
}

/** Returns the URL of a listener for clients on this machine: with `localhost`, unless only another address is bound. */
export function formatLocalUrl({ host, port }: Pick<ListenerConfig, 'host' | 'port'>): string {
  return formatUrl({ host: /^(0\.0\.0\.0|::|127\.0\.0\.1)$/.test(host) ? 'localhost' : host, port })
}

/** Returns the URL with the address that is bound. */
export function formatUrl({ host, port }: Pick<ListenerConfig, 'host' | 'port'>): string {
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`
}

type Ports = Pick<ListenerConfig, 'host' | 'port' | 'isPerWorker'>

/** Returns whether two listeners could need the same port of the same IP address; false if a variable is invalid. */
function collide(one: Ports, other: Ports, workers: number): boolean {
  const hosts = [one.host, other.host].map((name) => (name === 'localhost' ? '127.0.0.1' : name))
  const shareHost = hosts.some((name) => /^(0\.0\.0\.0|::)$/.test(name)) || hosts[0] === hosts[1]
  const end = ({ port, isPerWorker }: Ports) => port + (isPerWorker ? workers : 1)
  return shareHost && one.port > 0 && other.port > 0 && one.port < end(other) && other.port < end(one)
}
