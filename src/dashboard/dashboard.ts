/** The dashboard: pages for people on the API listener, over the same forms, actions and stores. */

import type { Actor } from '../access/actor.ts'
import type { ResourceHandlers } from '../api/handlers.ts'
import type { RateLimits } from '../api/rate-limit.ts'
import type { Domain } from '../domains/schema.ts'
import { Failure } from '../errors.ts'
import type { Reversals } from '../events/reversal.ts'
import type { Exchange } from '../http/exchange.ts'
import { html } from '../http/html.ts'
import { addHeader, send } from '../http/response.ts'
import type { Router } from '../http/router.ts'
import type { ImportActions } from '../imports/actions.ts'
import type { Keyring } from '../keys/keyring.ts'
import type { Semaphore } from '../lib/semaphore.ts'
import type { LinkActions } from '../links/actions.ts'
import type { RunBatch } from '../links/batch.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { Explain } from '../rules/explanation.ts'
import type { OidcClient } from '../sign-in/oidc/client.ts'
import type { Passkeys } from '../sign-in/passkeys/passkeys.ts'
import type { Space } from '../spaces/schema.ts'
import type { Storage } from '../storage/port.ts'
import type { TagActions } from '../tags/actions.ts'
import { version } from '../version.ts'
import { assetHandler } from './assets.ts'
import { renderFailurePage } from './frame.ts'
import type { AddGroupPages } from './group.ts'
import type { Pages } from './page.ts'
import { addAccountPage } from './pages/account.ts'
import { addComparePage } from './pages/compare.ts'
import { addDomainQrPages } from './pages/domain-qr.ts'
import { addDomainPages } from './pages/domains.ts'
import { GroupPages } from './pages/groups.ts'
import { addHistoryPages } from './pages/history.ts'
import { addImportPages } from './pages/imports.ts'
import { addJoinPages } from './pages/join.ts'
import { addKeyPages } from './pages/keys.ts'
import { addLinkPages } from './pages/link.ts'
import { addLinkFile } from './pages/link-file.ts'
import { addLinkForms } from './pages/link-form.ts'
import { addLinkListPages } from './pages/links.ts'
import { addOidcPages } from './pages/oidc.ts'
import { addOverviewPage } from './pages/overview.ts'
import { addPasskeyPages } from './pages/passkeys.ts'
import { addPeoplePages } from './pages/people.ts'
import { addProfilePages } from './pages/profile.ts'
import { addSelectionPages } from './pages/selection.ts'
import { addSignInPages } from './pages/sign-in.ts'
import { addSpacePages } from './pages/spaces.ts'
import { addTagPages } from './pages/tags.ts'
import { PageServer } from './pages.ts'
import { addBreakdownPages } from './statistics/breakdown-pages.ts'

/** What the pages use. Each names its own part. */
interface Services {
  readonly router: Router
  readonly storage: Storage
  readonly keyring: Keyring
  readonly shortUrl: ShortUrl
  /** Returns the public URL of the dashboard, without a trailing slash. */
  readonly dashboardUrl: (exchange: Exchange) => string
  readonly rateLimits: RateLimits
  readonly passkeys: Passkeys
  /** The number of days after which statistics are deleted. 0 means never. */
  readonly clicksRetention: number
  /** The number of days after which events are deleted. 0 means never. */
  readonly historyDays: number
  /** Deletes all of a link's clicks. Returns false if the account has no such link. */
  readonly deleteClicks: (actor: Actor, link: number) => Promise<boolean>
  readonly runBatch: RunBatch
  /** Called after a change of the account, so that this process redirects correctly straight away. */
  readonly onAccountChange: () => Promise<void>
  /** Limits of concurrent work, by account. */
  readonly semaphores: Readonly<Record<'pages' | 'downloads' | 'selections' | 'plans' | 'logos', Semaphore>>
  readonly actions: {
    readonly domains: ResourceHandlers<Domain>
    readonly spaces: ResourceHandlers<Space>
    readonly tags: TagActions
    readonly links: LinkActions
  }
  readonly imports: ImportActions
  readonly reversals: Reversals
  readonly explain: Explain
  /** Null unless people can sign in with OpenID Connect. */
  readonly oidc: OidcClient | null
  /** Logs a problem that an operator can fix. */
  readonly warn: (message: string) => void
}

export function addDashboard(services: Services): void {
  const { router } = services
  const pages = new PageServer(services)
  const addGroupPages: AddGroupPages = (group) => new GroupPages(services, group).addTo(pages)
  router.add('GET', '/', (exchange) => {
    addHeader(exchange, 'location', '/app')
    return send(exchange, 302)
  })
  // Without its scripts, a page that was served loses its style, and the sign-in page does not read the sign-in link.
  router.add('GET', '/app/static/:version/:name', assetHandler(), {
    formatFailure: renderFailurePage,
    isAlwaysServed: true,
  })
  addSignInPages(pages, services)
  addOidcPages(pages, services)
  addJoinPages(pages, { ...services, oidcName: services.oidc?.config.name ?? null })
  addOverviewPage(pages, services)
  addBreakdownPages(pages, services)
  addLinkListPages(pages, services)
  addLinkFile(pages, services)
  addImportPages(pages, services)
  addSelectionPages(pages, services)
  addLinkPages(pages, services)
  addComparePage(pages, services)
  addLinkForms(pages, services)
  addDomainPages(pages, addGroupPages, services)
  addDomainQrPages(pages, services)
  addSpacePages(addGroupPages, services)
  addTagPages(pages, addGroupPages, services)
  addHistoryPages(pages, services)
  addKeyPages(pages, services)
  addPeoplePages(pages, services)
  addProfilePages(pages, services)
  addPasskeyPages(pages, services)
  addAccountPage(pages, services)
  pages.addDismissal()
  addAboutPage(pages)
  router.formatFailuresBelow('/app', renderFailurePage)
  pages.get('/app/*', null, async () => {
    throw new Failure('route_not_found', 'Page not found.')
  })
}

/** Adds the version, the account, and the sources of data. */
function addAboutPage(pages: Pages): void {
  pages.get('/app/about', null, async ({ session }) => ({
    title: 'About',
    heading: 'About Waymark',
    section: 'about',
    body: html`<dl class="facts">
<dt>Version</dt><dd>${version}</dd>
<dt>Account</dt><dd><bdi>${session.account.name}</bdi> <span class="muted">(ID ${session.account.id})</span></dd>
<dt>API</dt><dd><a href="/docs">Interactive reference</a> · <a href="/openapi.json">OpenAPI document</a></dd>
<dt>Country data</dt><dd><a href="https://location.ipfire.org/" rel="noreferrer">IPFire Location Database</a> (<a href="https://creativecommons.org/licenses/by-sa/4.0/" rel="noreferrer">CC BY-SA 4.0</a>, converted to another format), unless <code>GEOIP_DB</code> sets another database</dd>
</dl>
<p>Waymark doesn’t store visitors’ IP addresses or user agents.</p>`,
  }))
}
