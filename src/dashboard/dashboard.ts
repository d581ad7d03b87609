/**
 * The dashboard: pages for people, on the listener of the API, over the same forms, rules and stores.
 */

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
import { wordForPeople } from './failure-page.ts'
import { aboutPage } from './pages/about.ts'
import { domainPage, domainPages } from './pages/domains.ts'
import { keyPages } from './pages/keys.ts'
import { type LinkPageParts, linkActionPages, linkPage } from './pages/link.ts'
import { linkEditPage, newLinkPage } from './pages/link-form.ts'
import { linkListPage, selectedLinkPages } from './pages/links.ts'
import { overviewPage } from './pages/overview.ts'
import { sessionPages } from './pages/sessions.ts'
import { type SignInParts, signInPages } from './pages/sign-in.ts'
import { spacePage, spacePages } from './pages/spaces.ts'
import { Pages, type PagesParts } from './pages.ts'

export interface DashboardParts {
  readonly router: Router
  readonly storage: Storage
  readonly keyring: Keyring
  /** The public address of the dashboard, without a slash at its end. */
  readonly address: (exchange: Exchange) => string
  readonly spend: PagesParts['spend']
  readonly refuse: SignInParts['refuse']
  readonly shortUrl: ShortUrl
  readonly forget: LinkPageParts['forget']
  readonly actions: {
    readonly domains: DomainActions
    readonly spaces: SpaceActions
    readonly links: LinkActions
  }
}

/** Adds all pages. */
export function dashboard({
  router,
  storage,
  keyring,
  address,
  spend,
  refuse,
  shortUrl,
  forget,
  actions,
}: DashboardParts): void {
  const pages = new Pages({ router, db: storage, shortUrl, address, spend })
  router.add('GET', '/', (exchange) => {
    addHeader(exchange, 'location', '/app')
    return send(exchange, 302)
  })
  pages.open('GET', '/app/static/:version/:name', assetHandler())
  signInPages(pages, { db: storage, keyring, refuse })
  const ofLinks = { storage, shortUrl, forget, actions: actions.links }
  overviewPage(pages, { storage, shortUrl })
  linkListPage(pages, storage, shortUrl)
  newLinkPage(pages, ofLinks)
  linkActionPages(pages, ofLinks)
  selectedLinkPages(pages, ofLinks)
  linkPage(pages, ofLinks)
  linkEditPage(pages, ofLinks)
  const checks = new DomainChecks({ storage, shortUrl })
  const ofDomains = { storage, checks, address, shortUrl, actions: actions.domains }
  domainPages(pages, ofDomains)
  domainPage(pages, ofDomains)
  const ofSpaces = { storage, shortUrl, actions: actions.spaces }
  spacePages(pages, ofSpaces)
  spacePage(pages, ofSpaces)
  keyPages(pages, storage)
  sessionPages(pages, storage)
  aboutPage(pages)
  router.formatFailuresBelow('/app', wordForPeople)
  pages.show('/app/*', async () => {
    throw new Failure('route_not_found', 'The dashboard has no such page.')
  })
}
