/** Pages and files with the links visited from one referrer. */
import { rankingOf } from '../../analytics/statistics/statistics.ts'
import { linksOfReferrer } from '../../analytics/statistics/store.ts'
import { Failure, validationFailed } from '../../errors.ts'
import { html } from '../../http/html.ts'
import type { Storage } from '../../storage/port.ts'
import type { PageContent, PageRequest, Pages, Services } from '../pages.ts'
import { formatCount } from '../parts/format.ts'
import { linkIds } from './breakdowns.ts'
import { timeZoneText } from './clicks-over-time.ts'
import { sendCsv } from './csv.ts'
import { periodBar } from './period-bar.ts'
import { homes, type NamedSubject, requestedSubject, Statistics } from './statistics.ts'
import { fileOfLinks, introduction, rowsOfLinks, valueTable } from './value-table.ts'
import { referrerPath } from './values.ts'

/** The number of links whose days are read, most clicked first, and the number of their days. They take up to a second. */
const [maxLinks, maxLinkDays] = [100, 18_300]

/** Adds the pages of referrers of the account, a domain, a space or a tag. */
export function addReferrerPages(pages: Pages, services: Services): void {
  for (const scope of ['account', 'domain', 'space', 'tag'] as const) {
    const path = `${homes[scope]}/referrers/:host/links`
    pages.get(path, async (request) => linksPage(await referrerOf(request, services, scope)))
    pages.getFile(`${path}.csv`, async (request) => {
      const referrer = await referrerOf(request, services, scope)
      const { statistics, named, host } = referrer
      const { violations } = statistics.reading
      if (violations.length > 0) return validationFailed(violations)
      const { values, others } = await clicksOf(referrer)
      const rows = await fileOfLinks(statistics, values, others)
      return sendCsv(request.exchange, `${named.fileName}${host}-links.csv`, rows)
    })
  }
}

interface Referrer {
  readonly host: string
  readonly named: NamedSubject
  readonly statistics: Statistics
  readonly storage: Storage
}

async function referrerOf(
  request: PageRequest,
  services: Services,
  scope: 'account' | 'domain' | 'space' | 'tag',
): Promise<Referrer> {
  const named = await requestedSubject(request, services, scope)
  const host = request.exchange.params.host ?? ''
  const path = referrerPath(named.path, host)
  if (path === null) throw new Failure('route_not_found', 'Page not found.')
  const statistics = new Statistics(services, request, named.subject, path)
  return { host, named, statistics, storage: services.storage }
}

/** Searches the most clicked links for clicks from the referrer. Returns these links, and the clicks of all others. */
async function clicksOf({ host, statistics, storage }: Referrer) {
  const [db, account, subject] = statistics.scope
  const { range } = statistics.reading.period
  const [links, referrers] = [
    await rankingOf(db, account, subject, range, 'links'),
    await rankingOf(db, account, subject, range, 'referrers'),
  ]
  const limit = Math.min(maxLinks, Math.floor(maxLinkDays / (range.to - range.from + 1)))
  const top = await links.page({ sortBy: 'clicks', direction: 'desc', offset: 0, limit })
  const values = await linksOfReferrer(storage, account, linkIds(top), range, host)
  const found = values.reduce((sum, { clicks }) => sum + clicks, 0)
  // The days of a group can name fewer values than the days of its links.
  const others = Math.max(0, referrers.clicksOf(host) - found)
  return { values, others, total: found + others, limit: links.size > limit ? limit : null }
}

async function linksPage(referrer: Referrer): Promise<PageContent> {
  const { host, named, statistics } = referrer
  const { values, others, total, limit } = await clicksOf(referrer)
  const { reading, path, calendar } = statistics
  const rows = await rowsOfLinks(statistics, values)
  const rest = others > 0 ? [{ label: 'Others', clicks: others }] : []
  const list = { caption: 'Links', lead: 'Link', rows: [...rows, ...rest], most: rows[0]?.clicks ?? 0, total }
  const shown = total > 0 ? await valueTable(list) : html`<p class="muted">No clicks in this period.</p>`
  const limited =
    limit === null
      ? null
      : `Only the ${formatCount(limit)} links with the most clicks in this period were searched. Others counts the rest. `
  const body = html`${introduction(named, statistics, html` from <bdi>${host}</bdi>`)}
${periodBar({ reading, path, file: `${path}.csv`, isCompared: false })}
${shown}
<p class="muted small">${limited}${timeZoneText(calendar)}</p>`
  return { title: `Links visited from ${host}`, place: named.place, body, status: statistics.status }
}
