import { type ClickOptions, Clicks } from '../analytics/clicks.ts'
import type { ListenerName } from '../config/listeners.ts'
import type { Listener } from '../http/listener.ts'
import { Overload } from '../http/overload.ts'
import { Proxies } from '../http/proxies.ts'
import { RequestCounts } from '../http/request-metrics.ts'
import type { Router } from '../http/router.ts'
import { hasKey } from '../keys/key.ts'
import type { Histogram } from '../lib/histogram.ts'
import type { LinkActions } from '../links/actions.ts'
import { shortUrls } from '../names/short-url.ts'
import { opsListener } from '../ops/listener.ts'
import { Directory } from '../redirect/directory.ts'
import { redirectServer } from '../redirect/listener.ts'
import { VisitCounts } from '../redirect/visit-counts.ts'
import { hasToken } from '../sessions/token.ts'
import { buildApi } from './api.ts'
import type { AppOptions, Shared } from './options.ts'

/** All services of one process. */
export interface App {
  readonly listeners: Readonly<Record<ListenerName, Listener>>
  /** The other members are for tests. */
  readonly router: Router
  readonly actions: { readonly links: LinkActions }
  readonly counts: RequestCounts
  readonly loopDelays: Histogram
  readonly visits: VisitCounts
  readonly directory: Directory
  /** Loads the domains of the redirect server. Call this before the redirect server listens. */
  load(): Promise<void>
  /** Starts background work and overload protection. Call this when everything is loaded. */
  begin(): void
  /** Ends background work. Call this after the listeners have drained. */
  close(): Promise<void>
}

const isSecret = (text: string) => hasKey(text) || hasToken(text)

/** Builds all services. The server and the tests use the same function. */
export function buildApp(options: AppOptions): App {
  const { storage, logger } = options
  const counts = new RequestCounts()
  const overload = new Overload()
  const directory = buildDirectory(options)
  const clicks = buildClicks(options)
  const shared: Shared = { counts, proxies: new Proxies(options.trustProxy), overload, isSecret, directory, clicks }
  const api = buildApi(options, shared)
  const visits = new VisitCounts()
  const redirect = redirectServer({
    ...shared,
    onClick: (visit) => clicks.count(visit),
    takeClick: (visit) => clicks.take(visit),
    countryHeader: options.countryHeader,
    shortUrl: shortUrls(options.shortUrl),
    visits,
    logger,
    maxConnections: options.maxConnections,
  })
  const ops = opsListener({
    counts,
    loopDelays: overload.delays,
    visits,
    meters: { database: storage.meters, directory: directory.meters, clicks: clicks.meters, sink: clicks.sinkMeters },
    isServed: (domain) => directory.hasDomain(domain.toLowerCase()),
    storage,
    listener: api.listener,
    logger,
    hostNames: options.opsHosts,
    isSecret,
  })
  return {
    listeners: { api: api.listener, redirect, ops },
    router: api.router,
    actions: api.actions,
    counts,
    loopDelays: overload.delays,
    visits,
    directory,
    load: () => directory.start(),
    begin: () => {
      overload.begin()
      clicks.begin({ expectsClicks: redirect.server.listening })
      api.begin()
    },
    close: () => closeAll([directory, clicks, api, overload]),
  }
}

/** Closes services in order, even if one of them fails. Throws the first error at the end. */
async function closeAll(services: readonly { close(): Promise<void> }[]): Promise<void> {
  const errors: unknown[] = []
  for (const service of services) await service.close().catch((error) => errors.push(error))
  if (errors.length > 0) throw errors[0]
}

function buildDirectory({ storage, staleFor, logger }: AppOptions): Directory {
  return new Directory(storage, {
    staleForMs: staleFor * 1_000,
    onProblem: (error) => logger.warn({ err: error }, 'database unavailable; serving cached links'),
  })
}

function buildClicks(options: AppOptions): Clicks {
  const { logger } = options
  const onProblem: ClickOptions['onProblem'] = (error, message, level = 'warn') =>
    logger[level]({ err: error }, message)
  const onCountryFile: ClickOptions['onCountryFile'] = ({ isUsed, message }) =>
    logger[isUsed ? 'info' : 'warn'](message)
  return new Clicks(options.storage, { ...options, onProblem, onCountryFile })
}
