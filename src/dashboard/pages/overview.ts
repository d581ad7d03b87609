/** The overview: recent clicks, and links that need attention. */
import { type Html, html } from '../../http/html.ts'
import { type Link, linkOf } from '../../links/schema.ts'
import { findLinkDomain } from '../../links/store.ts'
import { firstLinks } from '../lists.ts'
import type { PageContent, PageRequest, Pages, Services } from '../pages.ts'
import { linkButton } from '../parts/buttons.ts'
import { shortUrlLink } from '../parts/links.ts'
import { emptyState } from '../parts/messages.ts'
import { breakdownBars, topLinks } from '../statistics/breakdowns.ts'
import { clicksOverTime } from '../statistics/clicks-over-time.ts'
import { groupBars } from '../statistics/group-bars.ts'
import { inactiveText, Statistics } from '../statistics/statistics.ts'
import { addEndingNoticeDismissal, endingNotice } from './ending-notice.ts'
import { qrImage } from './link.ts'

export function addOverviewPage(pages: Pages, services: Services): void {
  pages.get('/app', (request) => showOverview(request, services))
  addEndingNoticeDismissal(pages)
}

async function showOverview(request: PageRequest, services: Services): Promise<PageContent> {
  const { storage, shortUrl } = services
  const { account } = request
  const statistics = new Statistics(services, request, { scope: 'account', id: account }, '/app')
  const shown = { title: 'Overview', place: 'overview' } as const
  if (await statistics.areWorthShowing()) {
    const warning = await endingNotice(request, services)
    const body = html`${warning}${await clicksSections(statistics)}`
    return { ...shown, action: newLink, body, status: statistics.status }
  }
  const [newest] = (await firstLinks(storage, account, { sort_by: 'id', sort: 'desc' })).rows
  if (newest === undefined) {
    const hasDomain = (await findLinkDomain(storage, account, null)) !== undefined
    return { ...shown, heading: 'Welcome', body: hasDomain ? firstLink : firstDomain }
  }
  const warning = await endingNotice(request, services)
  return { ...shown, action: newLink, body: html`${warning}${waitingForFirstClick(linkOf(newest, shortUrl))}` }
}

const newLink = linkButton({ label: 'New link', href: '/app/links/new', weight: 'primary', icon: 'plus' })

const firstDomain = emptyState({
  title: 'Add your first domain',
  why: 'Every short link starts with a domain you own, such as go.example.com. To try Waymark on this machine, use localhost.',
  action: linkButton({ label: 'Add domain', href: '/app/domains/new', weight: 'primary', icon: 'plus' }),
})

const firstLink = emptyState({
  title: 'Create your first link',
  why: 'Paste a URL to get a short link, a QR code and click statistics.',
  action: newLink,
})

/** Renders the newest link until its first visit. A script polls for the figures. */
function waitingForFirstClick({ id, short_url: shortUrl, status }: Link): Html {
  const next =
    status === 'active'
      ? html`<p>Open this short link, or scan its QR code with your phone. Your click appears here within seconds.</p>
<div class="actions">${linkButton({ label: 'Open short link', href: shortUrl, inNewTab: true })}</div>`
      : html`<p>${inactiveText(status)}</p>`
  return html`<section id="clicks" data-refresh><h2>No clicks yet</h2>
<div class="qr">${qrImage(shortUrl, `/app/links/${id}/qr`)}<div class="stack">
<p>${shortUrlLink(shortUrl, `/app/links/${id}`)}</p>${next}</div></div></section>`
}

async function clicksSections(statistics: Statistics): Promise<Html> {
  const [overTime, top, groups, bars] = await Promise.all([
    clicksOverTime(statistics),
    topLinks(statistics),
    groupBars(statistics),
    breakdownBars(statistics, ['countries', 'referrers']),
  ])
  return html`<section id="clicks" data-arrived="First click received"><h2>Clicks</h2>${overTime}</section>
<section id="where"><h2>Top links and sources</h2>${top}${groups}${bars}</section>`
}
