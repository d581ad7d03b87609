import type { Server } from 'node:http'
import { Failure, notFound } from '../errors.ts'
import { addHeader, send, sendJson } from '../http/answer.ts'
import { maxUnfinishedBytes } from '../http/body.ts'
import { ByteBudget } from '../http/byte-budget.ts'
import { Connections } from '../http/connections.ts'
import { Drain } from '../http/drain.ts'
import type { Fields } from '../http/form-encoding.ts'
import { strangeHost } from '../http/gate.ts'
import { problemOf } from '../http/problem.ts'
import { Proxies } from '../http/proxies.ts'
import { type LogOutput, RequestLog } from '../http/request-log.ts'
import { RequestCounts } from '../http/request-metrics.ts'
import { type Fallback, Router } from '../http/router.ts'
import { createListener } from '../http/server.ts'
import { UnreadAnswers } from '../http/unread-answers.ts'
import { type Health, readiness } from './health.ts'
import { type Measured, metricsOf } from './metrics.ts'

/** What the operator may be told about; `drain` is of the listener whose readiness is asked for. */
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
export function opsListener(operated: Operated): { server: Server; drain: Drain } {
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
  const connections = new Connections(maxConnections)
  const drain = new Drain(connections)
  const server = createListener({
    finder: router,
    gate: { drain, connections, hostFault: strangeHost(operated.hostNames) },
    surroundings: {
      log: new RequestLog(operated.log, new RequestCounts(), 'debug'),
      proxies: new Proxies(false),
      unread: new UnreadAnswers(),
      unfinished: new ByteBudget(maxUnfinishedBytes),
      isSecret: operated.isSecret,
      word: problemOf,
      onArrival: (exchange) => addHeader(exchange, 'cache-control', 'no-store'),
    },
  })
  return { server, drain }
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
