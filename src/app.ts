import type { Server } from 'node:http'
import type { Logger } from 'pino'
import { documents } from './api/docs.ts'
import { healthRoute } from './api/health.ts'
import { problemPages } from './api/problem-pages.ts'
import { publicAddress } from './api/public-address.ts'
import { RateLimits } from './api/rate-limit.ts'
import { OperationRoutes } from './api/routes.ts'
import { domainRoutes } from './domains/routes.ts'
import { domainOperations } from './domains/schema.ts'
import type { Histogram } from './histogram.ts'
import { Connections } from './http/connections.ts'
import type { Drain } from './http/gate.ts'
import { Overload } from './http/overload.ts'
import { Proxies } from './http/proxies.ts'
import { RequestLog } from './http/request-log.ts'
import { RequestCounts } from './http/request-metrics.ts'
import { Routes } from './http/router.ts'
import { apiServer } from './http/server.ts'
import { KeptAnswers } from './idempotency/kept-answers.ts'
import { Keyring } from './keys/keyring.ts'
import { spaceRoutes } from './spaces/routes.ts'
import { spaceOperations } from './spaces/schema.ts'
import type { Storage } from './storage/port.ts'

export interface AppOptions {
  readonly storage: Storage
  readonly logger: Logger
  readonly baseUrl: string | null
  readonly rateLimit: number
  /** Connections that are served at once. */
  readonly mostConnections: number
  readonly trustProxy: false | number | string[]
}

/** An app that is ready to listen, and the switch that makes it turn requests away. */
export interface App {
  readonly server: Server
  readonly routes: Routes
  readonly drain: Drain
  readonly counts: RequestCounts
  readonly loopDelays: Histogram
  /** To be called once everything is loaded: from now on, what cannot be done in good time is refused. */
  begin(): void
  /** Accepts no more connections, and ends once those that are open have had their answers. */
  close(): Promise<void>
}

/** Every operation of the API, in the order of the documents. */
export const operations = [...Object.values(domainOperations), ...Object.values(spaceOperations)]

/** Puts everything together. Tests use the same function; there is no other app. */
export function buildApp(options: AppOptions): App {
  const { storage } = options
  const counts = new RequestCounts()
  const log = new RequestLog(options.logger, counts)
  const rateLimits = new RateLimits(options.rateLimit, storage)
  const proxies = new Proxies(options.trustProxy)
  const keyring = new Keyring(storage)
  const kept = new KeptAnswers(storage)
  const drain = { isDraining: false }
  const overload = new Overload()
  const connections = new Connections(options.mostConnections)

  const routes = new Routes()
  const address = publicAddress(options.baseUrl)
  const guarded = new OperationRoutes(routes, keyring)
  healthRoute(routes, storage)
  problemPages(routes)
  documents(routes, operations, address)
  domainRoutes(guarded, storage, kept, address)
  spaceRoutes(guarded, storage, kept, address)
  const server = apiServer(routes, { log, rateLimits, proxies }, { drain, overload, connections })

  const begin = () => {
    overload.begin()
    rateLimits.begin()
  }
  const close = async () => {
    if (server.listening) await new Promise((resolve) => server.close(resolve))
    overload.close()
    await rateLimits.close()
    await keyring.close()
    await kept.close()
  }
  return { server, routes, drain, counts, loopDelays: overload.delays, begin, close }
}
