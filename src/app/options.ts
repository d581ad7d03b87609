import type { ClickOptions } from '../analytics/clicks.ts'
import type { AllowedOrigins } from '../api/cors.ts'
import type { Proxies } from '../http/client-address.ts'
import type { Overload } from '../http/overload.ts'
import type { LogOutput } from '../http/request-log.ts'
import type { RequestCounts } from '../http/request-metrics.ts'
import type { Storage } from '../storage/port.ts'

export interface AppOptions extends Omit<ClickOptions, 'onProblem' | 'onCountryFile'> {
  readonly storage: Storage
  readonly log: LogOutput
  readonly baseUrl: string | null
  /** How short URLs begin: a template such as `https://{domain}`. */
  readonly shortUrl: string
  /** Seconds for which visitors are served from memory while the database is down. */
  readonly staleFor: number
  /** The header that tells visitors' countries, in lower case; null if there is none. */
  readonly countryHeader: string | null
  readonly corsOrigins: AllowedOrigins
  readonly rateLimit: number
  /** Connections that the API serves at once, and as many that the visitors' listener does. */
  readonly maxConnections: number
  readonly trustProxy: false | number | string[]
  /** The names by which the ops listener may be asked for, in lower case. */
  readonly opsHosts: readonly string[]
}

/** What the listeners share. */
export interface Shared {
  readonly counts: RequestCounts
  readonly proxies: Proxies
  readonly overload: Overload
  readonly isSecret: (text: string) => boolean
}
