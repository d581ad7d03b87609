import type { Server } from 'node:http'
import { maxUnfinishedBytes } from '../http/body.ts'
import { ByteBudget } from '../http/byte-budget.ts'
import { Connections } from '../http/connections.ts'
import { Drain } from '../http/drain.ts'
import type { Finder } from '../http/exchange.ts'
import { noFields } from '../http/form-encoding.ts'
import { missingHost } from '../http/gate.ts'
import type { Overload } from '../http/overload.ts'
import type { Proxies } from '../http/proxies.ts'
import { type LogOutput, RequestLog } from '../http/request-log.ts'
import type { RequestCounts } from '../http/request-metrics.ts'
import { createListener } from '../http/server.ts'
import { UnreadAnswers } from '../http/unread-answers.ts'
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
export function visitorsListener(options: VisitorsOptions): { server: Server; drain: Drain } {
  const visits = new Visits(options)
  const match = {
    route: { template: visitRoute, handler: visits.answer.bind(visits) },
    params: {},
    query: noFields,
  }
  const finder: Finder = { find: () => match }
  const connections = new Connections(options.maxConnections)
  const drain = new Drain(connections)
  const server = createListener({
    finder,
    gate: { drain, connections, overload: options.overload, hostFault: missingHost },
    surroundings: {
      log: new RequestLog(options.log, options.counts, 'debug', 500),
      proxies: options.proxies,
      unread: new UnreadAnswers(),
      unfinished: new ByteBudget(maxUnfinishedBytes),
      isSecret: options.isSecret,
      word: wordForVisitors,
    },
  })
  // Some clients half-close their connection and wait for the response (RFC 9293 §3.6). This switch is missing from Node's
  // documents and types, but Node has no other: without it, Node ends the connection before a link is found.
  Object.assign(server, { httpAllowHalfOpen: true })
  return { server, drain }
}
