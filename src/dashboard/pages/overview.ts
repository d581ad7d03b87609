/** The overview: recent clicks, and links that need attention. */

import { positiveInteger } from '../../forms/rules.ts'
import { icon } from '../../frame/icons.ts'
import { readCookie, setCookie } from '../../http/cookies.ts'
import { readText } from '../../http/form-encoding.ts'
import { type Html, html } from '../../http/html.ts'
import { formatCount, quantity } from '../../lib/format.ts'
import { findEndingLinks, maxEndingLinks } from '../../links/activity.ts'
import { endingDays } from '../../links/link.ts'
import { listLinks } from '../../links/link-list.ts'
import { type Link, linkOf } from '../../links/schema.ts'
import { findLinkDomain } from '../../links/store.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import { linkListState } from '../link-list.ts'
import { type PageContent, type PageRequest, type Pages, Redirect } from '../page.ts'
import { hiddenFields, linkButton, submitButton, type Viewer } from '../parts/buttons.ts'
import { listed, timeAgo } from '../parts/format.ts'
import { newLinkActions } from '../parts/link-actions.ts'
import { qrImage, shortUrlLink, shortUrlText } from '../parts/links.ts'
import { addDomainFirst, emptyState } from '../parts/messages.ts'
import { returnPath } from '../return-path.ts'
import { breakdownBars, groupBars, topLinks } from '../statistics/breakdowns.ts'
import { clicksOverTime } from '../statistics/clicks-over-time.ts'
import { inactiveText, Statistics, type StatisticsServices } from '../statistics/statistics.ts'
import { type PasskeyServices, passkeyOffer } from './passkeys.ts'

export function addOverviewPage(pages: Pages, services: StatisticsServices & PasskeyServices): void {
  pages.get('/app', 'stats:read', (request) => showOverview(request, services))
  pages.post(dismissalPath, null, async ({ exchange, account, fields }) => {
    // A link that ended since then must stay in the notice.
    const shownAt = Math.min(positiveInteger(readText(fields.shown_at)) ?? 0, Date.now())
    const options = { isSecure: pages.isSecure(exchange), maxAge: dismissalDays * 86_400 }
    setCookie(exchange, dismissalCookie, `${account}.${shownAt}`, options)
    return new Redirect(returnPath(fields.next))
  })
}

/** The properties of visits that the overview shows. */
const properties = ['countries', 'referrers'] as const

async function showOverview(
  request: PageRequest,
  services: StatisticsServices & PasskeyServices,
): Promise<PageContent> {
  const { storage, shortUrl } = services
  const { account, actor } = request
  const statistics = new Statistics(services, request, { level: 'account', id: account }, '/app', [
    'links',
    ...properties,
  ])
  const shown = { title: 'Overview', section: 'overview' } as const
  if (await statistics.areWorthShowing()) {
    const warning = await endingNotice(request, services)
    const body = html`${warning}${await clicksSections(statistics, request.session.account.created_at)}`
    return { ...shown, action: newLinkActions(actor), body, status: statistics.status }
  }
  const newestFirst = linkListState('/app/links', { archived: 'any', sort_by: 'id', sort: 'desc' })
  const [newest] = (await listLinks(storage, account, newestFirst.request)).rows
  if (newest === undefined) {
    const hasDomain = (await findLinkDomain(storage, account, null)) !== undefined
    return {
      ...shown,
      heading: 'Welcome',
      body: html`${firstStep(actor, hasDomain)}${await passkeyOffer(services, request)}`,
    }
  }
  const warning = await endingNotice(request, services)
  const body = html`${warning}${waitingForFirstClick(linkOf(newest, shortUrl))}`
  return { ...shown, action: newLinkActions(actor), body }
}

/** Renders the first step in an account without links. */
function firstStep(viewer: Viewer, hasDomain: boolean): Html {
  if (!hasDomain)
    return addDomainFirst(viewer, 'Add your first domain', ' To try Waymark on this machine, use localhost.')
  const action = newLinkActions(viewer)
  if (action === null) return emptyState({ title: 'No links yet', why: 'Clicks on links will appear here.' })
  return emptyState({
    title: 'Create your first link',
    why: 'Paste a URL to get a short link, a QR code and click statistics. Or import the links of a spreadsheet.',
    action,
  })
}

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

async function clicksSections(
  statistics: Statistics<'links' | (typeof properties)[number]>,
  createdAt: string,
): Promise<Html> {
  const [overTime, top, groups, bars] = await Promise.all([
    clicksOverTime(statistics, createdAt),
    topLinks(statistics),
    groupBars(statistics),
    breakdownBars(statistics, properties),
  ])
  return html`<section id="clicks" data-arrived="First click received"><h2>Clicks</h2>${overTime}</section>
<section id="where"><h2>Where clicks come from</h2>${top}${groups}${bars}</section>`
}

/** An account and the time of its last dismissed notice, in Unix milliseconds. */
const dismissalCookie = 'waymark_endings'
const cookieFormat = /^(\d{1,15})\.(\d{1,15})$/
/** The days after which no link of a dismissed notice would be shown anyway. */
const dismissalDays = 2 * endingDays
const dismissalPath = '/app/dismiss-ending'
const maxNamed = 3

/** Returns null without such links. */
async function endingNotice(
  { exchange, account }: PageRequest,
  { storage, shortUrl }: StatisticsServices,
): Promise<Html | null> {
  const now = Date.now()
  const [, owner, time] = cookieFormat.exec(readCookie(exchange, dismissalCookie) ?? '') ?? []
  const dismissedAt = Number(owner) === account ? Math.min(Number(time), now) : 0
  const { ending, ended } = await findEndingLinks(storage, account, { now, dismissedAt, limit: maxNamed })
  const lines = [
    { found: ending, words: ['ends', 'end', `within ${endingDays} days`], all: '/app/links?status=ending' },
    { found: ended, words: ['ended', 'ended', `in the last ${endingDays} days`], all: '/app/links?status=expired' },
  ] as const
  const shown = lines.filter(({ found }) => found.total > 0)
  if (shown.length === 0) return null
  const sentences = shown.map(({ found, words: [one, several, when], all }) => {
    const isMore = found.total >= maxEndingLinks
    const subject = `${isMore ? 'At least ' : ''}${quantity(found.total, 'link')}`
    const named = found.links.map(({ link, end }) => formatName(link, end, shortUrl, now))
    const others = found.total - named.length
    const more =
      others > 0 ? html`, and <a href="${all}">${isMore ? 'at least ' : ''}${formatCount(others)} more</a>` : ''
    return html`<p>${subject} ${found.total === 1 ? one : several} ${when}: ${listed(named)}${more}.</p>`
  })
  return html`<section class="notice warning ending" aria-label="Links that end">${icon('clock')}<div class="stack">${sentences}</div>
<form method="post" action="${dismissalPath}">${hiddenFields({ shown_at: String(now), next: exchange.target })}${submitButton({ label: 'Dismiss', weight: 'link-like' })}</form></section>`
}

type NamedLink = Awaited<ReturnType<typeof findEndingLinks>>['ended']['links'][number]['link']

function formatName({ id, domain_name, alias }: NamedLink, end: number, shortUrl: ShortUrl, now: number): Html {
  const name = shortUrlText(shortUrl(domain_name ?? '', alias))
  return html`<a href="/app/links/${id}"><bdi>${name}</bdi></a> ${timeAgo(end, now)}`
}
