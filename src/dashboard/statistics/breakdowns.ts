import { rankingOf } from '../../analytics/statistics/statistics.ts'
import { rankingsOf } from '../../analytics/statistics/store.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { findLink } from '../../links/store.ts'
import { barChart, valueLabel } from '../charts/small-charts.ts'
import { shortUrlText } from '../parts/links.ts'
import type { Statistics } from './statistics.ts'

const breakdowns = {
  countries: 'Countries',
  referrers: 'Referrers',
  browsers: 'Browsers',
  operating_systems: 'Operating systems',
  devices: 'Devices',
  languages: 'Languages',
} as const

const allBreakdowns = Object.keys(breakdowns) as readonly (keyof typeof breakdowns)[]

/** The number of values in a breakdown, and of links in the ranking. */
const [shownValues, shownLinks] = [8, 10]

/** Renders breakdowns as bars. Reads the days only once. */
export async function breakdownBars({ scope, reading }: Statistics, names = allBreakdowns): Promise<Html> {
  const rankings = await rankingsOf(...scope, reading.period.range, names)
  const bars = names.map(async (name) => {
    const values = await rankings[name].page({ sortBy: 'clicks', direction: 'desc', offset: 0, limit: shownValues })
    const rows = values.map(({ value, clicks }) => ({ label: valueLabel(name, value), clicks }))
    return barChart({ title: breakdowns[name], rows, total: rankings[name].total })
  })
  return html`<div class="breakdowns">${await Promise.all(bars)}</div>`
}

/** Renders the links with the most clicks as bars. */
export async function topLinks(statistics: Statistics): Promise<Html> {
  const { scope, reading } = statistics
  const ranking = await rankingOf(...scope, reading.period.range, 'links')
  const values = await ranking.page({ sortBy: 'clicks', direction: 'desc', offset: 0, limit: shownLinks })
  const rows = values.map(async ({ value, clicks }) => ({ label: await linkLabel(statistics, value), clicks }))
  return barChart({ title: 'Top links', rows: await Promise.all(rows), total: ranking.total })
}

async function linkLabel({ scope, shortUrl }: Statistics, link: string | number | null): Promise<Part> {
  if (typeof link !== 'number') return 'Other links'
  const [db, account] = scope
  const found = await findLink(db, account, link)
  if (found === undefined) return 'Deleted link'
  const { alias, domain_name } = found.record
  const text = shortUrlText(shortUrl(domain_name ?? '', alias))
  return html`<a class="short-url" href="/app/links/${link}"><bdi>${text}</bdi></a>`
}
