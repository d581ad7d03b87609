import { setTimeout } from 'node:timers/promises'
import type { Logger } from 'pino'
import { databaseUnavailable, Failure, notFound } from '../errors.ts'
import type { Handler } from '../http/exchange.ts'
import { formatProblem } from '../http/failures.ts'
import { Listener } from '../http/listener.ts'
import { Proxies } from '../http/proxies.ts'
import { requireHostAmong } from '../http/request-head.ts'
import { RequestCounts, RequestLog } from '../http/request-log.ts'
import { addHeader, send, sendJson } from '../http/response.ts'
import { type Fallback, Router } from '../http/router.ts'
import { isReady, type Storage } from '../storage/port.ts'
import { createMetrics, type MeasuredServices } from './metrics.ts'

interface OpsOptions extends MeasuredServices {
  readonly storage: Pick<Storage, 'condition'>
  readonly listener: { readonly isDraining: boolean }
  readonly logger: Logger
  /** Accepted host names, besides IP addresses. Other names may be DNS rebinding by a web page. */
  readonly hostNames: readonly string[]
  readonly isSecret: (text: string) => boolean
  /** Returns whether short links on this domain are served, even while the database is down. */
  readonly isServed: (domain: string) => boolean
}

/** Enough for a scraper, an orchestrator and a person. */
const maxConnections = 64
/** A database that takes longer counts as unavailable. Milliseconds. */
const databaseTimeoutMs = 2_000

/** Builds the listener for the operator, which responds even if the process is overloaded or other listeners drain. */
export function opsListener(options: OpsOptions): Listener {
  const scrape = createMetrics(options)
  const router = new Router(fallback)
  router.add('GET', '/metrics', async (exchange) => {
    const { contentType, body } = await scrape()
    addHeader(exchange, 'content-type', contentType)
    return send(exchange, 200, body)
  })
  router.add('GET', '/health/live', async (exchange) => sendJson(exchange, 200, JSON.stringify({ status: 'live' })))
  router.add('GET', '/health/ready', async (exchange) => {
    const { httpStatus, body } = await readiness(options)
    return sendJson(exchange, httpStatus, JSON.stringify(body))
  })
  router.add('GET', '/tls/ask', async (exchange) => {
    const { domain } = exchange.query
    if (typeof domain !== 'string' || !options.isServed(domain)) return notFound('domain')
    return sendJson(exchange, 200, JSON.stringify({ domain }))
  })
  return new Listener({
    matcher: router,
    observer: new RequestLog(options.logger, new RequestCounts(), 'debug'),
    maxConnections,
    proxies: new Proxies(false),
    isSecret: options.isSecret,
    checkHost: requireHostAmong(options.hostNames),
    formatFailure: formatProblem,
    onArrival: (exchange) => addHeader(exchange, 'cache-control', 'no-store'),
  })
}

const paths = ['/metrics', '/health/live', '/health/ready', '/tls/ask']

const fallback: Fallback = ({ method }, methods) => {
  if (methods.length === 0) {
    return new Failure('route_not_found', `No such path. Available paths: ${paths.join(', ')}.`)
  }
  return new Failure('method_not_allowed', `This path does not support ${method}. It supports GET and HEAD.`, {
    allow: methods,
  })
}

/** Returns whether the process should get requests. Throws `shutting_down` while it drains, and `database_unavailable`. */
async function readiness({ listener, storage }: Pick<OpsOptions, 'listener' | 'storage'>) {
  if (listener.isDraining) throw new Failure('shutting_down', 'The server is stopping.', { retryAfter: 1 })
  const condition = await Promise.race([storage.condition(), databaseTimeout()])
  const body = condition === 'ok' ? { status: 'ready' } : { status: 'degraded', reason: condition }
  return { httpStatus: isReady(condition) ? 200 : 503, body }
}

async function databaseTimeout(): Promise<never> {
  await setTimeout(databaseTimeoutMs, undefined, { ref: false })
  throw databaseUnavailable(new Error(`The database has not responded for ${databaseTimeoutMs} ms.`))
}

/** Adds `GET /health`: 200 if the database responds, even if its disk is full; otherwise 503. */
export function healthRoute(routes: Router, storage: Storage): void {
  const handler: Handler = async (exchange) => {
    const condition = await storage.condition()
    addHeader(exchange, 'cache-control', 'no-store')
    const body = condition === 'ok' ? '{"status":"ok"}' : `{"status":"degraded","reason":"${condition}"}`
    return sendJson(exchange, isReady(condition) ? 200 : 503, body)
  }
  routes.add('GET', '/health', handler, { isAlwaysServed: true })
}
