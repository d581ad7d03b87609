/** The overview: recent clicks, and links that need attention. */
import { listDomainsQuery } from '../../domains/schema.ts'
import { listDomains } from '../../domains/store.ts'
import { type Html, html } from '../../http/html.ts'
import { type Link, linkOf, listLinksQuery } from '../../links/schema.ts'
import { listLinks } from '../../links/store.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import { resources } from '../../resources.ts'
import type { Storage } from '../../storage/port.ts'
import { ListState } from '../lists.ts'
import type { PageContent, Pages, Services } from '../pages.ts'
import { linkButton } from '../parts/buttons.ts'
import { quantity } from '../parts/format.ts'
import { shortUrlLink } from '../parts/links.ts'
import { emptyState } from '../parts/messages.ts'
import { breakdownBars, clicksOverTime, hasVisits, periodFrom, type StatisticsQuery, topLinks } from '../statistics.ts'
import { qrImage } from './link.ts'

const home = '/app'

/** Adds `/app`. */
export function addOverviewPage(pages: Pages, { storage, shortUrl }: Services): void {
  pages.get(home, async ({ account, query }) => {
    const reading = periodFrom(query)
    const statistics = {
      db: storage,
      account,
      subject: { scope: 'account', id: account } as const,
      reading,
      path: home,
    }
    const isRefused = reading.violations.length > 0
    if (!isRefused && !(await hasVisits(statistics))) {
      const link = await newestLink(storage, account, shortUrl)
      if (link !== undefined)
        return overviewContent(html`${await expiredLinksWarning(storage, account)}${waitingForFirstClick(link)}`)
      return firstStep((await hasDomains(storage, account)) ? firstLink : firstDomain)
    }
    const warnings = await expiredLinksWarning(storage, account)
    return overviewContent(html`${warnings}${await clicksSections(statistics, shortUrl)}`, isRefused ? 422 : 200)
  })
}

const newLink = linkButton({ label: 'New link', href: '/app/links/new', weight: 'primary', icon: 'plus' })

const firstDomain = emptyState({
  title: 'Start with a domain',
  why: 'Every short link begins with a host name that you own, such as go.example.com. To try it on this machine, use localhost.',
  action: linkButton({ label: 'Add a domain', href: '/app/domains/new', weight: 'primary', icon: 'plus' }),
})

const firstLink = emptyState({
  title: 'Now the first link',
  why: 'Paste its destination. You get a short link, its QR code, and a count of its visitors.',
  action: newLink,
})

function firstStep(body: Html): PageContent {
  return { title: 'Overview', heading: 'Welcome', place: 'overview', body }
}

function overviewContent(body: Html, status = 200): PageContent {
  return { title: 'Overview', place: 'overview', action: newLink, body, status }
}

async function hasDomains(storage: Storage, account: number): Promise<boolean> {
  const { request } = new ListState('', { per_page: '10' }, listDomainsQuery, resources.domains)
  return (await listDomains(storage, account, request)).total > 0
}

async function newestLink(storage: Storage, account: number, shortUrl: ShortUrl): Promise<Link | undefined> {
  const newest = { per_page: '10', sort_by: 'id', sort: 'desc' }
  const { request } = new ListState('', newest, listLinksQuery, resources.links)
  const [row] = (await listLinks(storage, account, request)).rows
  return row && linkOf(row, shortUrl)
}

/** Renders the newest link until its first visit. A script polls for the figures. */
function waitingForFirstClick({ id, short_url: shortUrl, status }: Link): Html {
  const next =
    status === 'active'
      ? html`<p>Share this short link, or scan its code with a phone. Open it once, and your click shows here within seconds.</p>
<div class="actions">${linkButton({ label: 'Open it once', href: shortUrl, inNewTab: true })}</div>`
      : html`<p>The link is ${status}, so visitors do not reach its target.</p>`
  return html`<section id="clicks" data-refresh><h2>No clicks yet</h2>
<div class="qr">${qrImage(shortUrl, `/app/links/${id}/qr`)}<div class="stack">
<p>${shortUrlLink({ shortUrl, href: `/app/links/${id}` })}</p>${next}</div></div></section>`
}

async function clicksSections(query: StatisticsQuery, shortUrl: ShortUrl): Promise<Html> {
  const [overTime, top, bars] = await Promise.all([
    clicksOverTime(query),
    topLinks(query, shortUrl),
    breakdownBars(query, ['countries', 'referrers']),
  ])
  return html`<section id="clicks" data-arrived="The first click is here"><h2>Clicks</h2>${overTime}</section>
<section id="where"><h2>Top links and sources</h2>${top}${bars}</section>`
}

/** Renders a warning if links have expired. */
async function expiredLinksWarning(storage: Storage, account: number): Promise<Html | null> {
  const { request } = new ListState('', { per_page: '10', status: 'expired' }, listLinksQuery, resources.links)
  const { total, totalIsExact } = await listLinks(storage, account, request)
  if (total === 0) return null
  const words = `${totalIsExact ? '' : 'More than '}${quantity(total, 'link')}`
  return html`<p class="attention"><a href="/app/links?status=expired">${words}</a> ${total === 1 ? 'has' : 'have'} expired.</p>`
}
