import type { Ranking, ValueClicks } from '../../analytics/statistics/ranking.ts'
import { rankingOf } from '../../analytics/statistics/statistics.ts'
import { rankingsOf, readHours } from '../../analytics/statistics/store.ts'
import { domainRecords } from '../../domains/store.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { findLinkNames, type LinkName } from '../../links/link-list.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import { spaceRecords } from '../../spaces/store.ts'
import { periodQuery } from '../charts/period.ts'
import { type BarRow, barChart } from '../charts/small-charts.ts'
import { shortUrlText, spaceLabel } from '../parts/links.ts'
import type { Statistics } from './statistics.ts'
import { type BreakdownName, breakdowns, propertyNames, referrerPath, valueLabel } from './values.ts'

/** The number of values in a breakdown, and of links in the ranking. */
const [shownValues, shownLinks] = [8, 10]

/** Renders breakdowns as bars, and a sentence about their limits. Reads the days only once. */
export async function breakdownBars(statistics: Statistics, names = propertyNames): Promise<Html> {
  const { scope, reading, subject } = statistics
  const rankings = await rankingsOf(...scope, reading.period.range, names)
  const bars = await Promise.all(names.map((name) => topBars(statistics, name, rankings[name], shownValues)))
  const shown = statistics.live('breakdowns', html`<div class="breakdowns">${bars}</div>`)
  const opened = subject.scope === 'link' ? null : ' A referrer opens the links that it sent visitors to.'
  return html`${shown}<p class="muted small">${unanswered}${opened}</p>`
}

/** Names the question that the stored data can't answer. */
export const unanswered =
  'Waymark counts each property separately, so it can’t show which browsers came from which country.'

/** Renders the links with the most clicks as bars. */
export async function topLinks(statistics: Statistics): Promise<Html> {
  const ranking = await rankingOf(...statistics.scope, statistics.reading.period.range, 'links')
  return statistics.live('top-links', await topBars(statistics, 'links', ranking, shownLinks))
}

async function topBars(statistics: Statistics, name: BreakdownName, ranking: Ranking, most: number): Promise<Html> {
  const { path, reading } = statistics
  const { values, others } = await topValues(ranking, most)
  const rows = await rowsOf(statistics, name, values)
  const allHref = `${path}/${breakdowns[name].path}?${periodQuery(reading.period)}`
  return barChart({ title: breakdowns[name].title, rows, others, allHref })
}

/** Returns a row for each value. A link opens its page, and a referrer the links visited from it. */
export async function rowsOf(
  { scope: [db, account, subject], shortUrl, path, reading }: Statistics,
  name: BreakdownName,
  values: readonly ValueClicks[],
): Promise<BarRow[]> {
  if (name === 'links') {
    const links = await findLinkNames(db, account, linkIds(values))
    return values.map(({ value, clicks }) => {
      const label = typeof value === 'number' ? linkLabel(links.get(value), shortUrl) : 'Others'
      return { label, clicks }
    })
  }
  return values.map(({ value, clicks }) => {
    const label = valueLabel(name, value)
    const page = name === 'referrers' && subject.scope !== 'link' ? referrerPath(path, value) : null
    const link = page && html`<a class="cover" href="${page}?${periodQuery(reading.period)}">${label}</a>`
    return { label: link ?? label, clicks }
  })
}

/** Returns the values with the most clicks, and the clicks of all others. One more value needs no more room than "Others". */
export async function topValues(ranking: Ranking, most: number) {
  const page = await ranking.page({ sortBy: 'clicks', direction: 'desc', offset: 0, limit: most + 2 })
  const named = page.filter(({ value }) => value !== 'other')
  const { total } = ranking
  const values = clicksIn(named.slice(0, most + 1)) === total ? named : named.slice(0, most)
  return { values, others: total - clicksIn(values) }
}

function clicksIn(values: readonly ValueClicks[]): number {
  return values.reduce((sum, { clicks }) => sum + clicks, 0)
}

export function linkIds(values: readonly ValueClicks[]): number[] {
  return values.flatMap(({ value }) => (typeof value === 'number' ? value : []))
}

/** Renders the short link and its title; undefined if the link was deleted. */
function linkLabel(link: LinkName | undefined, shortUrl: ShortUrl): Part {
  if (link === undefined) return 'Deleted link'
  const text = html`<bdi>${shortUrlText(shortUrl(link.domain, link.alias))}</bdi>`
  const title = link.title === null ? null : html`<bdi class="bar-title">${link.title}</bdi>`
  if (!link.hasPage) return html`<span class="short-url">${text}</span>${title}`
  return html`<a class="short-url cover" href="/app/links/${link.id}">${text}</a>${title}`
}

/** The number of groups whose days are read, and of rows. The lists of groups show more. */
const [maxGroups, shownGroups] = [30, 8]

/** Renders the clicks by space and by domain as bars. Leaves out a single domain, and kinds with many groups. */
export async function groupBars(statistics: Statistics): Promise<Html | null> {
  const [db, account] = statistics.scope
  const [spaces, domains] = await Promise.all([
    spaceRecords.listAfter(db, account, 0, maxGroups + 1),
    domainRecords.listAfter(db, account, 0, maxGroups + 1),
  ])
  const bySpace = spaces.map((space) => ({ id: space.id, label: spaceLabel(space) }))
  const byDomain = domains.map(({ id, name_unicode }) => ({ id, label: html`<bdi>${name_unicode}</bdi>` }))
  const bars = [
    await barsOf(statistics, 'space', bySpace),
    domains.length > 1 ? await barsOf(statistics, 'domain', byDomain) : null,
  ]
  return bars.every((each) => each === null) ? null : html`<div class="breakdowns">${bars}</div>`
}

const words = {
  space: { title: 'Spaces', without: 'No space' },
  domain: { title: 'Domains', without: 'Deleted domains' },
}

async function barsOf(
  statistics: Statistics,
  scope: 'space' | 'domain',
  groups: readonly { readonly id: number; readonly label: Part }[],
): Promise<Html | null> {
  if (groups.length > maxGroups) return null
  const [db, account] = statistics.scope
  const { period } = statistics.reading
  const clicks = new Map<number, number>()
  const ids = groups.map(({ id }) => id)
  for await (const { id, hours } of readHours(db, account, scope, ids, period.range)) {
    for (const [, { people }] of hours) clicks.set(id, (clicks.get(id) ?? 0) + people)
  }
  const rows = groups
    .flatMap(({ id, label }) => {
      const link = html`<a class="cover" href="/app/${scope}s/${id}?${periodQuery(period)}">${label}</a>`
      const count = clicks.get(id) ?? 0
      return count > 0 ? { label: link, clicks: count } : []
    })
    .sort((one, other) => other.clicks - one.clicks)
  if (rows.length === 0) return null
  // Read last, so that new clicks can't make it less than the sum.
  const { totals } = await statistics.seriesOf(period.range, 'month')
  const shown = rows.slice(0, shownGroups)
  const { title, without } = words[scope]
  return barChart({
    title,
    rows: shown,
    others: totals.clicks - shown.reduce((sum, { clicks }) => sum + clicks, 0),
    othersLabel: rows.length > shownGroups ? 'Others' : without,
    allHref: `/app/${scope}s?sort_by=clicks_30d&sort=desc`,
  })
}
