import { type ClickOptions, Clicks } from '../analytics/clicks.ts'
import { Salts } from '../analytics/salts.ts'
import { Overload } from '../http/overload.ts'
import { Proxies } from '../http/proxies.ts'
import { RequestCounts } from '../http/request-log.ts'
import { hasKey } from '../keys/key.ts'
import { shortUrls } from '../names/short-url.ts'
import { opsListener } from '../ops/listener.ts'
import { Directory } from '../redirect/directory.ts'
import { redirectServer } from '../redirect/server.ts'
import { VisitorSources } from '../redirect/visitor-sources.ts'
import { newVisitCounts } from '../redirect/visits.ts'
import { hasToken } from '../sessions/token.ts'
import { type AppOptions, buildApi, type Shared } from './api.ts'
import { createSemaphores } from './semaphores.ts'

export type App = ReturnType<typeof buildApp>

/** Builds all services of a process. The server and the tests use the same function. */
export function buildApp(options: AppOptions) {
  const { storage, logger } = options
  const overload = new Overload()
  const measured = { counts: new RequestCounts(), loopDelays: overload.delays, visits: newVisitCounts() }
  const directory = buildDirectory(options)
  const clicks = buildClicks(options)
  const shared: Shared = {
    counts: measured.counts,
    proxies: new Proxies(options.trustProxy),
    overload,
    isSecret: (text) => hasKey(text) || hasToken(text),
    directory,
    clicks,
    semaphores: createSemaphores(),
  }
  const api = buildApi(options, shared)
  const redirect = redirectServer({
    ...shared,
    onClick: (visit) => clicks.count(visit),
    takeClick: (visit) => clicks.take(visit),
    countryHeader: options.countryHeader,
    sources: buildSources(options, clicks),
    shortUrl: shortUrls(options.shortUrl),
    visits: measured.visits,
    logger,
    maxConnections: options.maxConnections,
  })
  const ops = opsListener({
    ...measured,
    meters: listMeters(options, shared, api),
    isServed: (domain) => directory.hasDomain(domain),
    storage,
    listener: api.listener,
    logger,
    hostNames: options.opsHosts,
    isSecret: shared.isSecret,
  })
  return {
    listeners: { api: api.listener, redirect, ops },
    /** Loads the domains of the redirect server. Call this before the redirect server listens. */
    load: () => directory.start(),
    /** Starts background work and overload protection. Call this when everything is loaded. */
    begin: () => {
      overload.begin()
      clicks.begin({ expectsClicks: redirect.server.listening })
      api.begin()
    },
    /** Ends background work. Call this after the listeners have drained. */
    close: () => closeAll([directory, clicks, ...api.services, overload]),
    // The other members are for tests.
    router: api.router,
    actions: api.actions,
    measured,
    directory,
  }
}

/** Returns the meters by the first word of their metrics. */
function listMeters({ storage }: AppOptions, { directory, clicks }: Shared, { actions }: ReturnType<typeof buildApi>) {
  const [database, links] = [storage.meters, actions.links.meters]
  return { database, directory: directory.meters, links, clicks: clicks.meters, sink: clicks.sinkMeters }
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

function buildSources({ storage, logger }: AppOptions, clicks: Clicks): VisitorSources {
  const salts = new Salts(storage)
  return new VisitorSources({
    loadCountries: () => clicks.countries(),
    findSalt: (dayStartMs) => salts.of(dayStartMs),
    onProblem: (error) => logger.warn({ err: error }, 'the countries of visitors are unknown'),
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
