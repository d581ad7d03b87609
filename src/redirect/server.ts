import type { Logger } from 'pino'
import type { Exchange, HandlerResult } from '../http/exchange.ts'
import { noFields } from '../http/form-encoding.ts'
import { Listener, type ListenerOptions } from '../http/listener.ts'
import { requireHost } from '../http/request-head.ts'
import { type RequestCounts, RequestLog } from '../http/request-log.ts'
import { addHeaders, send } from '../http/response.ts'
import { fingerprintOfInstance, fingerprintPath } from '../instance/store.ts'
import type { Directory } from './directory.ts'
import { formatFailureForVisitors } from './pages.ts'
import { noStoreHeaders } from './redirects.ts'
import { readHostName } from './visited-url.ts'
import { methodNotAllowed, type VisitOptions, Visits } from './visits.ts'

type ListenerParts = Pick<ListenerOptions, 'proxies' | 'overload' | 'maxConnections' | 'isSecret'>

interface RedirectServerOptions extends VisitOptions, ListenerParts {
  readonly directory: VisitOptions['directory'] & Pick<Directory, 'databaseId'>
  readonly logger: Logger
  readonly counts: RequestCounts
}

/** The route of every visit in the log and the metrics. The path would create a time series for each link. */
const visitRoute = '/{alias}'

/** Creates the redirect server, which serves the short links of all domains. */
export function redirectServer(options: RedirectServerOptions): Listener {
  const visits = new Visits(options)
  const { directory } = options
  const handler = (exchange: Exchange) => {
    const name = exchange.target === fingerprintTarget ? readHostName(exchange.host) : null
    const isOwn = name !== null && directory.domainNamed(name) !== undefined
    return isOwn ? sendFingerprint(exchange, directory.databaseId()) : visits.answer(exchange)
  }
  const route = { template: visitRoute, handler }
  const match = { route, params: {}, query: noFields }
  const listener = new Listener({
    ...options,
    matcher: { find: () => match },
    observer: new RequestLog(options.logger, options.counts, 'debug', 500),
    checkHost: requireHost,
    formatFailure: formatFailureForVisitors,
  })
  // Some clients half-close their connection and wait for the response (RFC 9293 §3.6). Without this internal option,
  // Node closes the connection before a link is found.
  Object.assign(listener.server, { httpAllowHalfOpen: true })
  return listener
}

const fingerprintTarget = `/${fingerprintPath}`

/** Sends the fingerprint, which shows that the domain resolves to this instance. Not counted as a visit. */
function sendFingerprint(exchange: Exchange, databaseId: string): HandlerResult {
  const { method } = exchange
  if (method !== 'GET' && method !== 'HEAD') return methodNotAllowed(method, ['GET', 'HEAD'])
  addHeaders(exchange, { ...noStoreHeaders, 'content-type': 'text/plain; charset=utf-8' })
  return send(exchange, 200, `${fingerprintOfInstance(databaseId)}\n`)
}
