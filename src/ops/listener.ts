import type { Server } from 'node:http'
import { Failure } from '../errors.ts'
import { addHeader, send } from '../http/answer.ts'
import { Connections } from '../http/connections.ts'
import { Drain } from '../http/drain.ts'
import type { Exchange, Handler } from '../http/exchange.ts'
import { problemOf } from '../http/problem.ts'
import { Proxies } from '../http/proxies.ts'
import { type LogOutput, RequestLog } from '../http/request-log.ts'
import { RequestCounts } from '../http/request-metrics.ts'
import { type Fallback, Router } from '../http/router.ts'
import { createListener } from '../http/server.ts'
import { UnreadAnswers } from '../http/unread-answers.ts'
import type { Storage } from '../storage/port.ts'
import { type Health, health } from './health.ts'
import { type Measured, metricsOf } from './metrics.ts'
import type { Report } from './report.ts'

/** What the operator may be told about. */
export interface Operated {
  readonly counts: Measured['counts']
  readonly loopDelays: Measured['loopDelays']
  readonly storage: Pick<Storage, 'condition' | 'meters'>
  /** Of the listener whose readiness is asked for. */
  readonly drain: Health['drain']
  readonly log: LogOutput
  /** The names by which it may be asked for, beside IP addresses: any other is one of a page elsewhere (DNS rebinding). */
  readonly hostNames: readonly string[]
  readonly isSecret: (text: string) => boolean
}

/** Connections are few: a scraper, an orchestrator, a person. */
const maxConnections = 64

/**
 * The listener for the operator: plain HTTP without keys, and so for a network that only the operator reaches. It answers
 * however busy the process is, and while the other listeners drain.
 */
export function opsListener(operated: Operated): { server: Server; drain: Drain } {
  const { live, ready } = health(operated)
  const router = new Router(fallback)
  router.add(['GET'], '/metrics', reporting(metricsOf(operated)))
  router.add(['GET'], '/health/live', reporting(live))
  router.add(['GET'], '/health/ready', reporting(ready))
  const connections = new Connections(maxConnections)
  const drain = new Drain(connections)
  const server = createListener({
    router,
    gate: { drain, connections, hostNames: operated.hostNames },
    surroundings: {
      log: new RequestLog(operated.log, new RequestCounts(), 'debug'),
      proxies: new Proxies(false),
      unread: new UnreadAnswers(),
      isSecret: operated.isSecret,
      word: problemOf,
      onArrival: (exchange) => addHeader(exchange, 'cache-control', 'no-store'),
    },
  })
  return { server, drain }
}

function reporting(report: () => Report | Promise<Report>): Handler {
  return async (exchange: Exchange) => {
    const { contentType, body } = await report()
    addHeader(exchange, 'content-type', contentType)
    return send(exchange, 200, body)
  }
}

const paths = ['/metrics', '/health/live', '/health/ready']

const fallback: Fallback = ({ method }, methods) => {
  if (methods.length === 0) {
    return new Failure('route_not_found', `There is nothing here. There is: ${paths.join(', ')}.`)
  }
  return new Failure('method_not_allowed', `${method} is not answered here: GET and HEAD are.`, { allow: methods })
}
