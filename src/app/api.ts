import { deleteLinkClicks, showStats } from '../analytics/statistics/operations.ts'
import { statsRoutes } from '../analytics/statistics/routes.ts'
import { Cors } from '../api/cors.ts'
import { documents } from '../api/docs.ts'
import { healthRoute } from '../api/health.ts'
import { ownKeyRoute, showOwnKey } from '../api/own-key.ts'
import { problemPages } from '../api/problem-pages.ts'
import { publicAddress } from '../api/public-address.ts'
import { RateLimits } from '../api/rate-limit.ts'
import { Removals } from '../api/removals.ts'
import { Api } from '../api/routes.ts'
import { apiFallback, apiResponses } from '../api/unanswered.ts'
import { dashboard } from '../dashboard/dashboard.ts'
import { DomainActions } from '../domains/actions.ts'
import { domainRoutes } from '../domains/routes.ts'
import { domainOperations } from '../domains/schema.ts'
import { finishDomainRemovals } from '../domains/store.ts'
import type { Exchange } from '../http/exchange.ts'
import { Listener } from '../http/listener.ts'
import { requireValidHost } from '../http/request-head.ts'
import { type LogOutput, RequestLog } from '../http/request-log.ts'
import { Router } from '../http/router.ts'
import { KeptAnswers } from '../idempotency/kept-answers.ts'
import { Keyring } from '../keys/keyring.ts'
import { LinkActions } from '../links/actions.ts'
import { showLinkQr } from '../links/qr-route.ts'
import { linkRoutes } from '../links/routes.ts'
import { linkOperations } from '../links/schema.ts'
import { type ShortUrl, shortUrls } from '../names/short-url.ts'
import { SpaceActions } from '../spaces/actions.ts'
import { spaceRoutes } from '../spaces/routes.ts'
import { spaceOperations } from '../spaces/schema.ts'
import { finishSpaceRemovals } from '../spaces/store.ts'
import type { Storage } from '../storage/port.ts'
import type { AppOptions, Shared } from './options.ts'
import type { redirectOf } from './redirect.ts'

/** Every operation of the API, in the order of the documents. */
export const operations = [
  ...Object.values(domainOperations),
  ...Object.values(spaceOperations),
  ...Object.values(linkOperations),
  showLinkQr,
  showStats,
  deleteLinkClicks,
  showOwnKey,
]

/** What serves visitors, and what counts them. */
type Visitors = Pick<ReturnType<typeof redirectOf>, 'directory' | 'clicks'>

/** The listener of the API, the documents and the dashboard. */
export function apiOf(
  options: AppOptions,
  { counts, proxies, overload, isSecret }: Shared,
  { directory, clicks }: Visitors,
) {
  const { storage } = options
  const keyring = new Keyring(storage)
  const kept = new KeptAnswers(storage)
  const rateLimits = new RateLimits(options.rateLimit, storage)
  const removals = removalsOf(storage, options.log)
  const cors = new Cors(options.corsOrigins)

  const shortUrl = shortUrls(options.shortUrl)
  const actions = actionsOf(storage, removals, shortUrl, { directory, clicks })

  const router = new Router(apiFallback(rateLimits, cors))
  const address = publicAddress(options.baseUrl)
  const api = new Api({ router, keyring, rateLimits, kept, address })
  healthRoute(router, storage)
  problemPages(router)
  documents(router, operations, address)
  const forget = forgettingOf({ directory, clicks })
  dashboard({ router, storage, keyring, address, ...limiting(rateLimits), shortUrl, forget, actions })
  domainRoutes(api, storage, actions.domains)
  spaceRoutes(api, storage, actions.spaces)
  linkRoutes(api, storage, actions.links, shortUrl)
  statsRoutes(api, storage, { forget })
  ownKeyRoute(api, storage, rateLimits.perMinute)

  const listener = new Listener({
    matcher: router,
    observer: new RequestLog(options.log, counts),
    maxConnections: options.maxConnections,
    proxies,
    overload,
    isSecret,
    checkHost: requireValidHost,
    ...apiResponses(rateLimits, cors),
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
  return { listener, router, actions, begin, close }
}

/** What the API and the dashboard can do to records; visitors of this process see it at once. */
function actionsOf(storage: Storage, removals: Removals, shortUrl: ShortUrl, { directory, clicks }: Visitors) {
  const onLinkChange = (id: number, domain: number, alias: string) => {
    directory.linkChanged(id, domain, alias)
    clicks.linkChanged()
  }
  return {
    domains: new DomainActions(storage, { removals, onChange: () => directory.domainsChanged() }),
    spaces: new SpaceActions(storage, removals),
    links: new LinkActions(storage, { shortUrl, onChange: onLinkChange, flush: () => clicks.flush() }),
  }
}

/** How the dashboard's requests are limited. */
function limiting(rateLimits: RateLimits) {
  return {
    spend: (session: number, exchange: Exchange) => rateLimits.spendOfSession(session, exchange),
    refuse: (exchange: Exchange) => rateLimits.refuse(exchange),
  }
}

/** Forgets the clicks of an account's link. */
function forgettingOf({ directory, clicks }: Visitors) {
  return async (account: number, link: number) => {
    const isForgotten = await clicks.forget(account, link)
    // A link that was used up works again.
    if (isForgotten) directory.linkChanged(link, 0, '')
    return isForgotten
  }
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
