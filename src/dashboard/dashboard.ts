/** The dashboard: pages for people on the API listener, over the same forms, actions and stores. */

import { Failure } from '../errors.ts'
import { addHeader, send } from '../http/response.ts'
import { assetHandler } from './assets.ts'
import { renderFailurePage } from './failure-page.ts'
import { addAboutPage } from './pages/about.ts'
import { addDomainPages } from './pages/domains.ts'
import { addKeyPages } from './pages/keys.ts'
import { addLinkPages } from './pages/link.ts'
import { addLinkForms } from './pages/link-form.ts'
import { addLinkListPages } from './pages/links.ts'
import { addOverviewPage } from './pages/overview.ts'
import { addSessionPages } from './pages/sessions.ts'
import { addSignInPages } from './pages/sign-in.ts'
import { addSpacePages } from './pages/spaces.ts'
import { Pages, type Services } from './pages.ts'

/** Adds all pages. */
export function addDashboard(services: Services): void {
  const { router } = services
  const pages = new Pages(services)
  router.add('GET', '/', (exchange) => {
    addHeader(exchange, 'location', '/app')
    return send(exchange, 302)
  })
  pages.publicRoute('GET', '/app/static/:version/:name', assetHandler())
  addSignInPages(pages, services)
  addOverviewPage(pages, services)
  addLinkListPages(pages, services)
  addLinkPages(pages, services)
  addLinkForms(pages, services)
  addDomainPages(pages, services)
  addSpacePages(pages, services)
  addKeyPages(pages, services)
  addSessionPages(pages, services)
  addAboutPage(pages)
  router.formatFailuresBelow('/app', renderFailurePage)
  pages.get('/app/*', async () => {
    throw new Failure('route_not_found', 'The dashboard has no such page.')
  })
}
