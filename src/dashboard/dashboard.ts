/** The dashboard: pages for people on the API listener, over the same forms, actions and stores. */

import type { DomainActions } from '../domains/actions.ts'
import { Failure } from '../errors.ts'
import type { Exchange } from '../http/exchange.ts'
import { addHeader, send } from '../http/response.ts'
import type { Router } from '../http/router.ts'
import type { Keyring } from '../keys/keyring.ts'
import type { LinkActions } from '../links/actions.ts'
import type { ShortUrl } from '../names/short-url.ts'
import { DomainChecks } from '../reachability/checks.ts'
import type { SpaceActions } from '../spaces/actions.ts'
import type { Storage } from '../storage/port.ts'
import { assetHandler } from './assets.ts'
import { renderFailurePage } from './failure-page.ts'
import { addAboutPage } from './pages/about.ts'
import { addDomainListPages, addDomainPages } from './pages/domains.ts'
import { addKeyPages } from './pages/keys.ts'
import { addLinkActionPages, addLinkPages, type LinkServices } from './pages/link.ts'
import { addLinkEditPages, addNewLinkPages } from './pages/link-form.ts'
import { addLinkListPage, addSelectedLinkPages } from './pages/links.ts'
import { addOverviewPage } from './pages/overview.ts'
import { addSessionPages } from './pages/sessions.ts'
import { addSignInPages, type SignInServices } from './pages/sign-in.ts'
import { addSpaceListPages, addSpacePages } from './pages/spaces.ts'
import { Pages, type PagesOptions } from './pages.ts'

interface DashboardServices {
  readonly router: Router
  readonly storage: Storage
  readonly keyring: Keyring
  /** Returns the public URL of the dashboard, without a trailing slash. */
  readonly dashboardUrl: (exchange: Exchange) => string
  readonly countRequest: PagesOptions['countRequest']
  readonly countFailedSignIn: SignInServices['countFailedSignIn']
  readonly shortUrl: ShortUrl
  readonly deleteClicks: LinkServices['deleteClicks']
  readonly actions: {
    readonly domains: DomainActions
    readonly spaces: SpaceActions
    readonly links: LinkActions
  }
}

/** Adds all pages. */
export function addDashboard({
  router,
  storage,
  keyring,
  dashboardUrl,
  countRequest,
  countFailedSignIn,
  shortUrl,
  deleteClicks,
  actions,
}: DashboardServices): void {
  const pages = new Pages({ router, db: storage, shortUrl, dashboardUrl, countRequest })
  router.add('GET', '/', (exchange) => {
    addHeader(exchange, 'location', '/app')
    return send(exchange, 302)
  })
  pages.publicRoute('GET', '/app/static/:version/:name', assetHandler())
  addSignInPages(pages, { db: storage, keyring, countFailedSignIn })
  const links = { storage, shortUrl, deleteClicks, actions: actions.links }
  addOverviewPage(pages, { storage, shortUrl })
  addLinkListPage(pages, storage, shortUrl)
  addNewLinkPages(pages, links)
  addLinkActionPages(pages, links)
  addSelectedLinkPages(pages, links)
  addLinkPages(pages, links)
  addLinkEditPages(pages, links)
  const checks = new DomainChecks({ storage, shortUrl })
  const domains = { storage, checks, dashboardUrl, shortUrl, actions: actions.domains }
  addDomainListPages(pages, domains)
  addDomainPages(pages, domains)
  const spaces = { storage, shortUrl, actions: actions.spaces }
  addSpaceListPages(pages, spaces)
  addSpacePages(pages, spaces)
  addKeyPages(pages, storage)
  addSessionPages(pages, storage)
  addAboutPage(pages)
  router.formatFailuresBelow('/app', renderFailurePage)
  pages.get('/app/*', async () => {
    throw new Failure('route_not_found', 'The dashboard has no such page.')
  })
}
