import type { Logger } from 'pino'
import type { Actor } from '../access/actor.ts'
import type { Clicks } from '../analytics/clicks.ts'
import { clickDeletionRoute } from '../analytics/statistics/routes.ts'
import { documents } from '../api/docs.ts'
import { apiFallback, apiResponses, Cors } from '../api/fallback.ts'
import { ownKeyRoute } from '../api/own-key.ts'
import { RateLimits } from '../api/rate-limit.ts'
import { apiRoutes, publicUrl } from '../api/routes.ts'
import type { Config } from '../config/config.ts'
import { addDashboard } from '../dashboard/dashboard.ts'
import type { Domain } from '../domains/schema.ts'
import { expireEvents } from '../events/retention.ts'
import type { Exchange } from '../http/exchange.ts'
import { Listener } from '../http/listener.ts'
import type { Overload } from '../http/overload.ts'
import type { Proxies } from '../http/proxies.ts'
import { requireValidHost } from '../http/request-head.ts'
import { type RequestCounts, RequestLog } from '../http/request-log.ts'
import { Router } from '../http/router.ts'
import { IdempotentRequests } from '../idempotency/store.ts'
import { expireImports } from '../imports/store.ts'
import { Jobs, maxWaitMs } from '../jobs/jobs.ts'
import { Keyring } from '../keys/keyring.ts'
import type { LinkActions } from '../links/actions.ts'
import { BatchWorker } from '../links/batch-worker.ts'
import { bulkRoutes } from '../links/bulk-requests.ts'
import { shortUrls } from '../names/short-url.ts'
import { healthRoute } from '../ops/listener.ts'
import type { Directory } from '../redirect/directory.ts'
import { explainer } from '../redirect/explain.ts'
import { OidcClient } from '../sign-in/oidc/client.ts'
import { Passkeys } from '../sign-in/passkeys/passkeys.ts'
import type { Storage } from '../storage/port.ts'
import { buildActions } from './actions.ts'
import { buildImports } from './imports.ts'
import { addOperations } from './operations.ts'
import type { Semaphores } from './semaphores.ts'

/** The configuration without what only the process needs. */
export interface AppOptions
  extends Omit<Config, 'listeners' | 'workers' | 'storage' | 'bootstrapKey' | 'logLevel' | 'warnings'> {
  readonly storage: Storage
  readonly logger: Logger
  /** Host names that the ops listener accepts, in lower case. */
  readonly opsHosts: readonly string[]
}

export interface Shared {
  readonly counts: RequestCounts
  readonly proxies: Proxies
  readonly overload: Overload
  /** Returns whether the text contains a secret, which logs must not contain. */
  readonly isSecret: (text: string) => boolean
  /** The links and domains that the redirect server serves. */
  readonly directory: Directory
  readonly clicks: Clicks
  readonly semaphores: Semaphores
}

/** How often a server deletes expired data. Milliseconds. */
const retentionMs = 60_000

/** Browsers use only HTTPS for this host, but not for its subdomains, for a year (RFC 6797). */
const strictTransport = { 'strict-transport-security': 'max-age=31536000' }

/** Builds the listener of the API, the documents and the dashboard. `services` are in the order in which they close. */
export function buildApi(options: AppOptions, shared: Shared) {
  const { storage, clicksRetention, historyDays } = options
  const { semaphores } = shared
  const keyring = new Keyring(storage)
  const idempotentRequests = new IdempotentRequests(storage)
  const rateLimits = new RateLimits(options.rateLimit, storage)
  const jobs = buildJobs(options)
  const cors = new Cors(options.corsOrigins)
  const shortUrl = shortUrls(options.shortUrl)
  const { actions, reversals } = buildActions(storage, {
    ...{ shortUrl, urlSchemes: options.urlSchemes, hashes: semaphores.hashes },
    ...effectsOn(shared),
    jobs,
  })
  const batches = batchWorker(options, shared, actions.links)
  const imports = buildImports(options, jobs, actions.links, reversals)
  const router = new Router(apiFallback(rateLimits, cors))
  const dashboardUrl = publicUrl(options.baseUrl)
  const api = apiRoutes({ routes: router, keyring, rateLimits, publicUrl: dashboardUrl, semaphores })
  healthRoute(router, storage)
  documents(router, dashboardUrl)
  const explain = explainer(storage, shortUrl)
  const parts = { router, storage, keyring, dashboardUrl, rateLimits, shortUrl, actions, semaphores, reversals }
  const signIn = signInServices(options, shared, dashboardUrl)
  const deleteClicks = clickDeletion(shared)
  const onAccountChange = () => shared.directory.refresh()
  const effects = { deleteClicks, explain, onAccountChange, runBatch: batches.run.bind(batches) }
  addDashboard({ ...parts, ...signIn, imports: imports.actions, clicksRetention, historyDays, ...effects })
  const served = { storage, shortUrl, actions, reversals, imports: imports.actions, explain, historyDays }
  addOperations(api, { ...served, idempotentRequests, semaphores })
  bulkRoutes({ api, storage, idempotentRequests, actions: actions.links, batches })
  clickDeletionRoute(api, deleteClicks)
  ownKeyRoute(api, storage, rateLimits.perMinute)

  return {
    listener: buildListener(options, shared, router, apiResponses(rateLimits, cors)),
    router,
    actions,
    imports: imports.actions,
    reversals,
    begin: () => {
      rateLimits.start()
      jobs.start()
    },
    services: [imports.service, batches, signIn.passkeys, rateLimits, keyring, idempotentRequests],
  }
}

/** Returns what the sign-in pages use. */
function signInServices(
  { storage, baseUrl, oidc, logger }: AppOptions,
  { semaphores }: Shared,
  dashboardUrl: (exchange: Exchange) => string,
) {
  return {
    passkeys: new Passkeys({ storage, baseUrl, dashboardUrl, turns: semaphores.passkeys }),
    oidc: oidc && new OidcClient(oidc),
    warn: (message: string) => logger.warn(message),
  }
}

function buildListener(
  { logger, maxConnections, baseUrl }: AppOptions,
  { counts, proxies, overload, isSecret }: Shared,
  matcher: Router,
  responses: ReturnType<typeof apiResponses>,
): Listener {
  return new Listener({
    matcher,
    observer: new RequestLog(logger, counts),
    ...{ maxConnections, proxies, overload, isSecret },
    checkHost: requireValidHost,
    ...(baseUrl?.startsWith('https:') && { fixedHeaders: strictTransport }),
    ...responses,
  })
}

/** Returns how this process reacts to changed records, which redirects by the new values immediately. */
function effectsOn({ directory, clicks }: Shared) {
  return {
    onChange: (id: number, domain: number, alias: string) => {
      directory.linkChanged(id, domain, alias)
      clicks.linkChanged()
    },
    onDomain: {
      onStored: (domain: Domain) => directory.domainChanged(domain),
      refresh: () => directory.refresh(),
    },
    flush: () => clicks.flush(),
    erase: () => clicks.erase(),
  }
}

function batchWorker(options: AppOptions, shared: Shared, links: LinkActions): BatchWorker {
  return new BatchWorker({
    location: options.storage.location,
    shortUrl: options.shortUrl,
    urlSchemes: options.urlSchemes,
    turns: shared.semaphores.batches,
    flush: () => shared.clicks.flush(),
    onApplied: (rows) => links.onApplied(rows),
  })
}

function clickDeletion({ directory, clicks }: Shared) {
  return async (actor: Actor, link: number) => {
    const isDeleted = await clicks.deleteClicks(actor, link)
    // A link that had reached its click limit works again.
    if (isDeleted) directory.linkChanged(link, 0, '')
    return isDeleted
  }
}

/** Builds the jobs of a server, with retention, which it repeats. */
function buildJobs({ storage, logger, historyDays }: AppOptions): Jobs {
  const jobs = new Jobs(storage, {
    maxWaitMs,
    onProblem: (error) => logger.warn({ err: error }, 'job interrupted; will continue'),
    // Without the message, which can contain the account's data.
    onFailure: ({ code }, subject) => logger.warn({ code, ...subject }, 'job failed'),
  })
  jobs.repeat('retention', retentionMs, async (job) => {
    await expireEvents(storage, job, historyDays)
    await expireImports(storage, job.now)
  })
  return jobs
}
