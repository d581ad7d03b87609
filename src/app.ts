import type { Server } from 'node:http'
import type { AllowedOrigins } from './api/cors.ts'
import { Cors } from './api/cors.ts'
import { documents } from './api/docs.ts'
import { healthRoute } from './api/health.ts'
import { ownKeyRoute, showOwnKey } from './api/own-key.ts'
import { problemPages } from './api/problem-pages.ts'
import { publicAddress } from './api/public-address.ts'
import { RateLimits } from './api/rate-limit.ts'
import { Removals } from './api/removals.ts'
import { Api } from './api/routes.ts'
import { apiFallback, apiManners } from './api/unanswered.ts'
import type { ListenerName } from './config.ts'
import { domainRoutes } from './domains/routes.ts'
import { domainOperations } from './domains/schema.ts'
import { finishDomainRemovals } from './domains/store.ts'
import { domainTransfer } from './domains/transfer.ts'
import type { Histogram } from './histogram.ts'
import { Connections } from './http/connections.ts'
import { Drain } from './http/drain.ts'
import { Overload } from './http/overload.ts'
import { Proxies } from './http/proxies.ts'
import { type LogOutput, RequestLog } from './http/request-log.ts'
import { RequestCounts } from './http/request-metrics.ts'
import { Router } from './http/router.ts'
import { createListener } from './http/server.ts'
import { UnreadAnswers } from './http/unread-answers.ts'
import { KeptAnswers } from './idempotency/kept-answers.ts'
import { hasKey } from './keys/key.ts'
import { Keyring } from './keys/keyring.ts'
import { showLinkQr } from './links/qr-operation.ts'
import { linkRoutes } from './links/routes.ts'
import { linkOperations } from './links/schema.ts'
import { linkTransfer } from './links/transfer.ts'
import { shortUrls } from './names/short-url.ts'
import { opsListener } from './ops/listener.ts'
import { spaceRoutes } from './spaces/routes.ts'
import { spaceOperations } from './spaces/schema.ts'
import { finishSpaceRemovals } from './spaces/store.ts'
import { spaceTransfer } from './spaces/transfer.ts'
import type { Storage } from './storage/port.ts'

export interface AppOptions {
  readonly storage: Storage
  readonly log: LogOutput
  readonly baseUrl: string | null
  /** How a short link begins; see `shortUrls`. */
  readonly shortUrl: string
  readonly corsOrigins: AllowedOrigins
  readonly rateLimit: number
  /** Connections that the API serves at once. */
  readonly maxConnections: number
  readonly trustProxy: false | number | string[]
  /** The names by which the ops listener may be asked for, in lower case. */
  readonly opsHosts: readonly string[]
}

/** A server that is ready to listen, and its end. */
export interface Listener {
  readonly server: Server
  readonly drain: Drain
  /** Whether it goes on answering while the others drain, so that the operator can watch them. */
  readonly isLast: boolean
}

/** Everything that one process serves. */
export interface App {
  readonly listeners: Readonly<Record<ListenerName, Listener>>
  /** The routes of the API, and what its requests come to: for tests. */
  readonly router: Router
  readonly counts: RequestCounts
  readonly loopDelays: Histogram
  /** To be called once everything is loaded: from now on, requests that would have to wait long are refused. */
  begin(): void
  /** Ends the work that goes on beside the requests. To be called after the listeners have drained. */
  close(): Promise<void>
}

/** Every operation of the API, in the order of the documents. */
export const operations = [
  ...Object.values(domainOperations),
  ...Object.values(spaceOperations),
  ...Object.values(linkOperations),
  showLinkQr,
  showOwnKey,
]

/** What exports and imports carry: each kind of record after those that it refers to. */
export const transferables = [domainTransfer, spaceTransfer, linkTransfer]

/** Puts everything together. Tests use the same function; there is no other app. */
export function buildApp(options: AppOptions): App {
  const { storage } = options
  const counts = new RequestCounts()
  const log = new RequestLog(options.log, counts)
  const proxies = new Proxies(options.trustProxy)
  const overload = new Overload()
  const keyring = new Keyring(storage)
  const kept = new KeptAnswers(storage)
  const rateLimits = new RateLimits(options.rateLimit, storage)
  const cors = new Cors(options.corsOrigins)

  const router = new Router(apiFallback(rateLimits, cors))
  const address = publicAddress(options.baseUrl)
  const api = new Api({ router, keyring, rateLimits, kept, address })
  healthRoute(router, storage)
  problemPages(router)
  documents(router, operations, address)
  const removals = removalsOf(storage, options.log)
  domainRoutes(api, storage, { removals, onChange: async () => undefined })
  spaceRoutes(api, storage, removals)
  linkRoutes(api, storage, { shortUrl: shortUrls(options.shortUrl), onChange: () => undefined })
  ownKeyRoute(api, storage, rateLimits.perMinute)

  const connections = new Connections(options.maxConnections)
  const drain = new Drain(connections)
  const lent = { log, proxies, unread: new UnreadAnswers(), isSecret: hasKey }
  const surroundings = { ...lent, ...apiManners(rateLimits, cors) }
  const server = createListener({ router, surroundings, gate: { drain, overload, connections } })
  const ops = opsListener({
    counts,
    loopDelays: overload.delays,
    storage,
    drain,
    log: options.log,
    hostNames: options.opsHosts,
    isSecret: hasKey,
  })

  return {
    listeners: { api: { server, drain, isLast: false }, ops: { ...ops, isLast: true } },
    router,
    counts,
    loopDelays: overload.delays,
    begin: () => {
      overload.begin()
      rateLimits.begin()
      removals.begin()
    },
    close: async () => {
      overload.close()
      removals.close()
      await rateLimits.close()
      await keyring.close()
      await kept.close()
    },
  }
}

/** A domain or a space that many links refer to is removed in steps. */
function removalsOf(storage: Storage, { logger }: LogOutput): Removals {
  return new Removals({
    finish: async () => {
      await finishDomainRemovals(storage)
      await finishSpaceRemovals(storage)
    },
    onProblem: (error) => logger.warn({ err: error }, 'a removal was interrupted; it will go on'),
  })
}
