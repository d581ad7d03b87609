/** The first page: what has happened, and what needs a look. */
import { listDomainsQuery } from '../../domains/schema.ts'
import { listDomains } from '../../domains/store.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { listLinksQuery } from '../../links/schema.ts'
import { findLink, listLinks } from '../../links/store.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import { resources } from '../../resources.ts'
import { rankingOf } from '../../stats/reading.ts'
import type { Storage } from '../../storage/port.ts'
import { barChart } from '../charts/bars.ts'
import type { Period } from '../charts/period.ts'
import { ListState } from '../list-page.ts'
import type { Pages, Shown } from '../pages.ts'
import { linkButton } from '../parts/buttons.ts'
import { emptyState } from '../parts/empty.ts'
import { counted } from '../parts/number.ts'
import { shortUrlText } from '../parts/short-url.ts'
import { clicksOverTime, periodOf } from '../statistics.ts'

const home = '/app'
/** Links of the ranking. */
const shownLinks = 10

export interface OverviewParts {
  readonly storage: Storage
  readonly shortUrl: ShortUrl
}

/** `/app`. */
export function overviewPage(pages: Pages, parts: OverviewParts): void {
  const { storage } = parts
  pages.show(home, async ({ account, query }) => {
    const reading = periodOf(query)
    const [domains, links] = await Promise.all([totalOf('domains', account), totalOf('links', account)])
    if (domains === 0) return firstStep(firstDomain)
    if (links === 0) return firstStep(firstLink)
    const subject = { scope: 'account', id: account } as const
    const [chart, top, warnings] = await Promise.all([
      clicksOverTime({ db: storage, account, subject, reading, path: home }),
      topLinks(parts, account, reading.period),
      attention(storage, account),
    ])
    const body = html`${warnings}${chart}${top}`
    return {
      title: 'Overview',
      place: 'overview',
      action: newLink,
      body,
      status: reading.violations.length > 0 ? 422 : 200,
    }
  })

  async function totalOf(name: 'domains' | 'links', account: number): Promise<number> {
    const of = (form: typeof listDomainsQuery) => new ListState('', { per_page: '10' }, form, resources[name]).request
    const page =
      name === 'domains'
        ? await listDomains(storage, account, of(listDomainsQuery))
        : await listLinks(storage, account, of(listLinksQuery))
    return page.total
  }
}

const newLink = linkButton({ label: 'New link', href: '/app/links/new', weight: 'primary', icon: 'plus' })

const firstDomain = emptyState({
  title: 'Start with a domain',
  why: 'Every short link begins with a host name that you own, such as go.example.com. To try it on this machine, use localhost.',
  action: linkButton({ label: 'Add a domain', href: '/app/domains/new', weight: 'primary', icon: 'plus' }),
})

const firstLink = emptyState({
  title: 'Now the first link',
  why: 'Paste where it leads. You get a short link, its QR code, and a count of everyone who follows it.',
  action: newLink,
})

function firstStep(body: Html): Shown {
  return { title: 'Overview', heading: 'Welcome', place: 'overview', body }
}

/** The links that were followed most in the period. */
async function topLinks({ storage, shortUrl }: OverviewParts, account: number, period: Period): Promise<Html> {
  const ranking = await rankingOf(storage, account, { scope: 'account', id: account }, period.range, 'links')
  const values = await ranking.page({ sortBy: 'clicks', direction: 'desc', offset: 0, limit: shownLinks })
  const rows = await Promise.all(values.map(async ({ value, clicks }) => ({ label: await labelOf(value), clicks })))
  return barChart({ title: 'Top links', rows, total: ranking.total })

  async function labelOf(value: string | number | null): Promise<Part> {
    if (typeof value !== 'number') return 'Other links'
    const found = await findLink(storage, account, value)
    if (found === undefined) return 'A deleted link'
    const { alias, domain_name } = found.record
    return html`<a href="/app/links/${value}"><bdi>${shortUrlText(shortUrl(domain_name ?? '', alias))}</bdi></a>`
  }
}

/** What needs a look: links that have stopped working. */
async function attention(storage: Storage, account: number): Promise<Html | null> {
  const { request } = new ListState('', { per_page: '10', status: 'expired' }, listLinksQuery, resources.links)
  const { total, totalIsExact } = await listLinks(storage, account, request)
  if (total === 0) return null
  const words = `${totalIsExact ? '' : 'More than '}${counted(total, 'link')}`
  return html`<p class="attention"><a href="/app/links?status=expired">${words}</a> ${total === 1 ? 'has' : 'have'} expired.</p>`
}
