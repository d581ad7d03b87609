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
import { type ClickOptions, Clicks } from './clicks/clicks.ts'
import { clickTransfer } from './clicks/transfer.ts'
import type { ListenerName } from './config-listeners.ts'
import { domainRoutes } from './domains/routes.ts'
import { domainOperations } from './domains/schema.ts'
import { finishDomainRemovals } from './domains/store.ts'
import { domainTransfer } from './domains/transfer.ts'
import type { Histogram } from './histogram.ts'
import { Connections } from './http/connections.ts'
import { Drain } from './http/drain.ts'
import { malformedHost } from './http/gate.ts'
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
import { Directory } from './redirect/directory.ts'
import { visitorsListener } from './redirect/listener.ts'
import { VisitCounts } from './redirect/visit-counts.ts'
import { spaceRoutes } from './spaces/routes.ts'
import { spaceOperations } from './spaces/schema.ts'
import { finishSpaceRemovals } from './spaces/store.ts'
import { spaceTransfer } from './spaces/transfer.ts'
import type { Storage } from './storage/port.ts'

export interface AppOptions extends Omit<ClickOptions, 'onProblem'> {
  readonly storage: Storage
  readonly log: LogOutput
  readonly baseUrl: string | null
  /** How short URLs begin: a template such as `https://{domain}`. */
  readonly shortUrl: string
  /** Seconds for which visitors are served from memory while the database is down. */
  readonly staleFor: number
  /** The header that tells visitors' countries, in lower case; null if there is none. */
  readonly countryHeader: string | null
  readonly corsOrigins: AllowedOrigins
  readonly rateLimit: number
  /** Connections that the API serves at once, and as many that the visitors' listener does. */
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
  readonly visits: VisitCounts
  /** What visitors are served from. */
  readonly directory: Directory
  /** Loads what visitors are served from. To be called before the app listens to them. */
  load(): Promise<void>
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

/** What exports and imports carry: each kind of record after those that it refers to, and then what tells more of them. */
export const transferables = [domainTransfer, spaceTransfer, linkTransfer, clickTransfer]

/** Puts everything together. Tests use the same function; there is no other app. */
export function buildApp(options: AppOptions): App {
  const { storage } = options
  const shared = {
    counts: new RequestCounts(),
    proxies: new Proxies(options.trustProxy),
    overload: new Overload(),
    isSecret: hasKey,
  }
  const { counts, overload } = shared
  const redirect = redirectOf(options, shared)
  const { directory, clicks, visits } = redirect
  const api = apiOf(options, shared, redirect)
  const ops = opsListener({
    counts,
    loopDelays: overload.delays,
    visits,
    meters: { database: storage.meters, directory: directory.meters, clicks: clicks.meters },
    isServed: (domain) => directory.hasDomain(domain.toLowerCase()),
    storage,
    drain: api.drain,
    log: options.log,
    hostNames: options.opsHosts,
    isSecret: hasKey,
  })
  return {
    listeners: {
      api: { server: api.server, drain: api.drain, isLast: false },
      redirect: { server: redirect.server, drain: redirect.drain, isLast: false },
      ops: { ...ops, isLast: true },
    },
    router: api.router,
    ...{ counts, visits, directory, loopDelays: overload.delays },
    load: () => directory.begin(),
    begin: () => {
      overload.begin()
      clicks.begin()
      api.begin()
    },
    close: async () => {
      overload.close()
      await directory.close()
      await clicks.close()
      await api.close()
    },
  }
}

/** What the listeners share. */
interface Shared {
  readonly counts: RequestCounts
  readonly proxies: Proxies
  readonly overload: Overload
  readonly isSecret: (text: string) => boolean
}

/** The listener of the API and the documents. */
function apiOf(
  options: AppOptions,
  { counts, proxies, overload, isSecret }: Shared,
  { directory, clicks }: Redirecting,
) {
  const { storage } = options
  const keyring = new Keyring(storage)
  const kept = new KeptAnswers(storage)
  const rateLimits = new RateLimits(options.rateLimit, storage)
  const removals = removalsOf(storage, options.log)
  const cors = new Cors(options.corsOrigins)

  const router = new Router(apiFallback(rateLimits, cors))
  const address = publicAddress(options.baseUrl)
  const api = new Api({ router, keyring, rateLimits, kept, address })
  healthRoute(router, storage)
  problemPages(router)
  documents(router, operations, address)
  domainRoutes(api, storage, { removals, onChange: () => directory.domainsChanged() })
  spaceRoutes(api, storage, removals)
  linkRoutes(api, storage, {
    shortUrl: shortUrls(options.shortUrl),
    onChange: (id, domain, alias) => {
      directory.linkChanged(id, domain, alias)
      clicks.linkChanged()
    },
  })
  ownKeyRoute(api, storage, rateLimits.perMinute)

  const connections = new Connections(options.maxConnections)
  const drain = new Drain(connections)
  const log = new RequestLog(options.log, counts)
  const server = createListener({
    finder: router,
    surroundings: { log, proxies, unread: new UnreadAnswers(), isSecret, ...apiManners(rateLimits, cors) },
    gate: { drain, overload, connections, hostFault: malformedHost },
  })
  const begin = () => {
    rateLimits.begin()
    removals.begin()
  }
  const close = async () => {
    await removals.close()
    await rateLimits.close()
    await keyring.close()
    await kept.close()
  }
  return { server, drain, router, begin, close }
}

/** A domain or a space that many links refer to is removed in steps. */
function removalsOf(storage: Storage, { logger }: LogOutput): Removals {
  return new Removals({
    finish: async (isStopped) => {
      await Promise.all([finishDomainRemovals(storage, isStopped), finishSpaceRemovals(storage, isStopped)])
    },
    onProblem: (error) => logger.warn({ err: error }, 'a removal was interrupted; it will go on'),
  })
}

type Redirecting = ReturnType<typeof redirectOf>

/** The listener of visitors, and what it serves from and counts into. */
function redirectOf(options: AppOptions, shared: Shared) {
  const { storage, log, shortUrl, staleFor, maxConnections, countryHeader } = options
  const warn = (message: string) => (error: unknown) => log.logger.warn({ err: error }, message)
  const directory = new Directory(storage, {
    staleForMs: staleFor * 1_000,
    onProblem: warn('visitors are served from memory, since the database is away'),
  })
  const onProblem = (error: unknown, meaning: string) => warn(meaning)(error)
  const clicks = new Clicks(storage, { ...options, onProblem })
  const visits = new VisitCounts()
  const listener = visitorsListener({
    directory,
    onClick: (visit) => clicks.count(visit),
    takeClick: (visit) => clicks.take(visit),
    countryHeader,
    shortUrl: shortUrls(shortUrl),
    visits,
    log,
    maxConnections,
    ...shared,
  })
  return { ...listener, directory, clicks, visits }
}
