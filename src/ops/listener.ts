import { Failure, notFound } from '../errors.ts'
import { Proxies } from '../http/client-address.ts'
import type { Fields } from '../http/form-encoding.ts'
import { Listener } from '../http/listener.ts'
import { problemOf } from '../http/problem.ts'
import { requireHostAmong } from '../http/request-head.ts'
import { type LogOutput, RequestLog } from '../http/request-log.ts'
import { RequestCounts } from '../http/request-metrics.ts'
import { addHeader, send, sendJson } from '../http/response.ts'
import { type Fallback, Router } from '../http/router.ts'
import { type Health, readiness } from './health.ts'
import { type Measured, metricsOf } from './metrics.ts'

/** What the operator may be told about; `listener` is the one whose readiness is asked for. */
export interface Operated extends Measured, Health {
  readonly log: LogOutput
  /** The names by which it may be asked for, beside IP addresses: any other is one of a page elsewhere (DNS rebinding). */
  readonly hostNames: readonly string[]
  readonly isSecret: (text: string) => boolean
  /** Whether visitors of this domain are served: from memory, whether or not the database is there. */
  readonly isServed: (domain: string) => boolean
}

/** Connections are few: a scraper, an orchestrator, a person. */
const maxConnections = 64

/**
 * The listener for the operator: plain HTTP without keys, and so for a network that only the operator reaches. It answers
 * however busy the process is, and while the other listeners drain.
 */
export function opsListener(operated: Operated): Listener {
  const scrape = metricsOf(operated)
  const router = new Router(fallback)
  router.add('GET', metrics, async (exchange) => {
    const { contentType, body } = await scrape()
    addHeader(exchange, 'content-type', contentType)
    return send(exchange, 200, body)
  })
  router.add('GET', live, async (exchange) => sendJson(exchange, 200, JSON.stringify({ status: 'live' })))
  router.add('GET', ready, async (exchange) => {
    const { httpStatus, body } = await readiness(operated)
    return sendJson(exchange, httpStatus, JSON.stringify(body))
  })
  router.add('GET', tlsAsk, async (exchange) => {
    const { domain } = exchange.query as Fields
    if (typeof domain !== 'string' || !operated.isServed(domain)) return notFound('domain')
    return sendJson(exchange, 200, JSON.stringify({ domain }))
  })
  return new Listener({
    matcher: router,
    observer: new RequestLog(operated.log, new RequestCounts(), 'debug'),
    maxConnections,
    proxies: new Proxies(false),
    isSecret: operated.isSecret,
    checkHost: requireHostAmong(operated.hostNames),
    formatFailure: problemOf,
    onArrival: (exchange) => addHeader(exchange, 'cache-control', 'no-store'),
  })
}

const paths = ['/metrics', '/health/live', '/health/ready', '/tls/ask'] as const
const [metrics, live, ready, tlsAsk] = paths

const fallback: Fallback = ({ method }, methods) => {
  if (methods.length === 0) {
    return new Failure('route_not_found', `There is nothing here. There is: ${paths.join(', ')}.`)
  }
  return new Failure('method_not_allowed', `This path does not support ${method}. It supports GET and HEAD.`, {
    allow: methods,
  })
}
