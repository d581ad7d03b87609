import type { Logger } from 'pino'
import type { ClickOptions, Clicks } from '../analytics/clicks.ts'
import type { AllowedOrigins } from '../api/cors.ts'
import type { Overload } from '../http/overload.ts'
import type { Proxies } from '../http/proxies.ts'
import type { RequestCounts } from '../http/request-metrics.ts'
import type { Directory } from '../redirect/directory.ts'
import type { Storage } from '../storage/port.ts'

export interface AppOptions extends Omit<ClickOptions, 'onProblem' | 'onCountryFile'> {
  readonly storage: Storage
  readonly logger: Logger
  readonly baseUrl: string | null
  /** Template of short URLs, such as `https://{domain}`. */
  readonly shortUrl: string
  /** Seconds for which cached links are served while the database is down. */
  readonly staleFor: number
  /** Header with the visitor's country, in lower case; null if there is none. */
  readonly countryHeader: string | null
  readonly corsOrigins: AllowedOrigins
  readonly rateLimit: number
  /** Connections of the API server, and of the redirect server. */
  readonly maxConnections: number
  readonly trustProxy: false | number | string[]
  /** Host names that the ops listener accepts, in lower case. */
  readonly opsHosts: readonly string[]
}

/** Services shared by the listeners. */
export interface Shared {
  readonly counts: RequestCounts
  readonly proxies: Proxies
  readonly overload: Overload
  /** Returns whether the text contains a secret, which logs must not contain. */
  readonly isSecret: (text: string) => boolean
  /** The links and domains that the redirect server serves. */
  readonly directory: Directory
  readonly clicks: Clicks
}
