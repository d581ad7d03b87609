import type { Logger } from 'pino'
import { noFields } from '../http/form-encoding.ts'
import { Listener, type ListenerOptions } from '../http/listener.ts'
import { requireHost } from '../http/request-head.ts'
import { type RequestCounts, RequestLog } from '../http/request-log.ts'
import { formatFailureForVisitors } from './pages.ts'
import { type VisitOptions, Visits } from './visits.ts'

export interface RedirectServerOptions
  extends VisitOptions,
    Pick<ListenerOptions, 'proxies' | 'overload' | 'maxConnections' | 'isSecret'> {
  readonly logger: Logger
  readonly counts: RequestCounts
}

/** The route of every visit in the log and the metrics. The path would create a time series for each link. */
const visitRoute = '/{alias}'

/** Creates the redirect server, which serves the short links of all domains. */
export function redirectServer(options: RedirectServerOptions): Listener {
  const visits = new Visits(options)
  const route = { template: visitRoute, handler: visits.answer.bind(visits) }
  const match = { route, params: {}, query: noFields }
  const listener = new Listener({
    ...options,
    matcher: { find: () => match },
    observer: new RequestLog(options.logger, options.counts, 'debug', 500),
    checkHost: requireHost,
    formatFailure: formatFailureForVisitors,
  })
  // Some clients half-close their connection and wait for the response (RFC 9293 §3.6). Without this undocumented option,
  // Node closes the connection before a link is found.
  Object.assign(listener.server, { httpAllowHalfOpen: true })
  return listener
}
