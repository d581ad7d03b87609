import type { Logger } from 'pino'
import { noFields } from '../http/form-encoding.ts'
import { Listener } from '../http/listener.ts'
import type { Overload } from '../http/overload.ts'
import type { Proxies } from '../http/proxies.ts'
import { requireHost } from '../http/request-head.ts'
import { RequestLog } from '../http/request-log.ts'
import type { RequestCounts } from '../http/request-metrics.ts'
import { formatFailureForVisitors } from './pages.ts'
import { type VisitOptions, Visits } from './visits.ts'

export interface RedirectServerOptions extends VisitOptions {
  readonly logger: Logger
  readonly counts: RequestCounts
  readonly proxies: Proxies
  readonly overload: Overload
  readonly maxConnections: number
  readonly isSecret: (text: string) => boolean
}

/** The route of every visit in the log and the metrics. The path would create a time series for each link. */
export const visitRoute = '/{alias}'

/** Creates the redirect server, which serves the short links of all domains. */
export function redirectServer(options: RedirectServerOptions): Listener {
  const visits = new Visits(options)
  const match = {
    route: { template: visitRoute, handler: visits.answer.bind(visits) },
    params: {},
    query: noFields,
  }
  const listener = new Listener({
    matcher: { find: () => match },
    observer: new RequestLog(options.logger, options.counts, 'debug', 500),
    maxConnections: options.maxConnections,
    proxies: options.proxies,
    overload: options.overload,
    isSecret: options.isSecret,
    checkHost: requireHost,
    formatFailure: formatFailureForVisitors,
  })
  // Some clients half-close their connection and wait for the response (RFC 9293 §3.6). Without this undocumented option,
  // Node closes the connection before a link is found.
  Object.assign(listener.server, { httpAllowHalfOpen: true })
  return listener
}
