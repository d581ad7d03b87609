import type { Proxies } from '../http/client-address.ts'
import type { RouteMatcher } from '../http/exchange.ts'
import { noFields } from '../http/form-encoding.ts'
import { Listener } from '../http/listener.ts'
import type { Overload } from '../http/overload.ts'
import { requireHost } from '../http/request-head.ts'
import { type LogOutput, RequestLog } from '../http/request-log.ts'
import type { RequestCounts } from '../http/request-metrics.ts'
import { type Visited, Visits } from './visits.ts'
import { wordForVisitors } from './wording.ts'

/** What the listener is made of beside the visits. */
export interface VisitorsOptions extends Visited {
  readonly log: LogOutput
  readonly counts: RequestCounts
  readonly proxies: Proxies
  readonly overload: Overload
  /** Connections that it serves at once. */
  readonly maxConnections: number
  readonly isSecret: (text: string) => boolean
}

/** The route of every visit, for the log and the metrics: the address itself would be one series for each link. */
export const visitRoute = '/{alias}'

/** The listener for visitors: any host, any path, and nothing else than links. */
export function visitorsListener(options: VisitorsOptions): Listener {
  const visits = new Visits(options)
  const match = {
    route: { template: visitRoute, handler: visits.answer.bind(visits) },
    params: {},
    query: noFields,
  }
  const matcher: RouteMatcher = { find: () => match }
  const listener = new Listener({
    matcher,
    observer: new RequestLog(options.log, options.counts, 'debug', 500),
    maxConnections: options.maxConnections,
    proxies: options.proxies,
    overload: options.overload,
    isSecret: options.isSecret,
    checkHost: requireHost,
    formatFailure: wordForVisitors,
  })
  // Some clients half-close their connection and wait for the response (RFC 9293 §3.6). This switch is missing from Node's
  // documents and types, but Node has no other: without it, Node ends the connection before a link is found.
  Object.assign(listener.server, { httpAllowHalfOpen: true })
  return listener
}
