/** The links that were followed most, as a part of a page. */
import { type Html, html, type Part } from '../http/html.ts'
import { findLink } from '../links/store.ts'
import type { ShortUrl } from '../names/short-url.ts'
import { rankingOf } from '../stats/reading.ts'
import { barChart } from './charts/bars.ts'
import { shortUrlText } from './parts/short-url.ts'
import type { StatisticsAsked } from './statistics.ts'

/** Links of the ranking. */
const shownLinks = 10

/** Those of the account, a domain or a space in the period. */
export async function topLinks({ db, account, subject, reading }: StatisticsAsked, shortUrl: ShortUrl): Promise<Html> {
  const ranking = await rankingOf(db, account, subject, reading.period.range, 'links')
  const values = await ranking.page({ sortBy: 'clicks', direction: 'desc', offset: 0, limit: shownLinks })
  const rows = await Promise.all(values.map(async ({ value, clicks }) => ({ label: await labelOf(value), clicks })))
  return barChart({ title: 'Top links', rows, total: ranking.total })

  async function labelOf(value: string | number | null): Promise<Part> {
    if (typeof value !== 'number') return 'Other links'
    const found = await findLink(db, account, value)
    if (found === undefined) return 'A deleted link'
    const { alias, domain_name } = found.record
    return html`<a class="short-url" href="/app/links/${value}"><bdi>${shortUrlText(shortUrl(domain_name ?? '', alias))}</bdi></a>`
  }
}
