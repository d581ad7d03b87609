import { other } from '../../analytics/day.ts'
import type { Ranking, ValueClicks } from '../../analytics/statistics/ranking.ts'
import { readRanking } from '../../analytics/statistics/statistics.ts'
import { findGroupNames, rankGroups } from '../../analytics/statistics/store.ts'
import { domainRecords } from '../../domains/store.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { findLinkNames, type LinkName } from '../../links/link-list.ts'
import type { ShortUrl } from '../../names/short-url.ts'
import { periodQuery } from '../charts/period.ts'
import { type BarRow, barChart } from '../charts/small-charts.ts'
import { shortUrlText, spaceLabel } from '../parts/links.ts'
import type { Statistics } from './statistics.ts'
import {
  type BreakdownName,
  breakdowns,
  type GroupName,
  groups,
  isGroup,
  type PropertyName,
  referrerPath,
  valueLabel,
  valueText,
} from './values.ts'

/** The number of values in a breakdown, and of links in the ranking. */
const [shownValues, shownLinks] = [8, 10]

/** Renders breakdowns as bars, and a sentence about their limits. */
export async function breakdownBars<Name extends PropertyName>(
  statistics: Statistics<Name>,
  names: readonly Name[],
): Promise<Html> {
  const { subject } = statistics
  const { rankings } = await statistics.clicks()
  const bars = await Promise.all(names.map((name) => topBars(statistics, name, rankings[name], shownValues)))
  const shown = statistics.live('breakdowns', html`<div class="breakdowns">${bars}</div>`)
  const opened = subject.level === 'link' ? null : ' A referrer opens the links that it sent visitors to.'
  return html`${shown}<p class="muted small">${unanswered}${opened}</p>`
}

/** Names the question that the stored data can't answer. */
export const unanswered =
  'Waymark counts each property separately, so it can’t show which browsers came from which country.'

/** Returns the clicks by value in the period of the page. Clicks outside of any group have the value null. */
export async function rankValues(statistics: Statistics, name: BreakdownName): Promise<Ranking> {
  const { source, reading } = statistics
  const { range } = reading.period
  if (!isGroup(name)) return readRanking(...source, range, name)
  const [storage, account] = source
  const { ranking, isWhole } = await rankGroups(storage, account, groups[name].level, range)
  const rest = (await statistics.seriesOf(range, 'month')).totals.clicks - ranking.total
  if (rest > 0) ranking.add(isWhole ? null : other, rest)
  return ranking
}

/** Renders the links with the most clicks as bars. */
export async function topLinks(statistics: Statistics<'links'>): Promise<Html> {
  const { rankings } = await statistics.clicks()
  return statistics.live('top-links', await topBars(statistics, 'links', rankings.links, shownLinks))
}

async function topBars(statistics: Statistics, name: BreakdownName, ranking: Ranking, most: number): Promise<Html> {
  const { path, reading } = statistics
  const { values, others } = await topValues(ranking, most)
  const rows = await rowsOf(statistics, name, values)
  const allHref = `${path}/${breakdowns[name].path}?${periodQuery(reading.period)}`
  return barChart({ title: breakdowns[name].title, rows, others, allHref })
}

/** Returns a row for each value. A link, a space and a domain open their page, and a referrer the links visited from it. */
export async function rowsOf(
  { source: [db, account, subject], shortUrl, path, reading }: Statistics,
  name: BreakdownName,
  values: readonly ValueClicks[],
): Promise<BarRow[]> {
  if (name === 'links') {
    const links = await findLinkNames(db, account, idsIn(values))
    return values.map(({ value, clicks }) => {
      const label = value === 'other' ? 'Others' : linkLabel(links.get(value as number), shortUrl)
      return { label, clicks }
    })
  }
  if (isGroup(name)) {
    const { level, without } = groups[name]
    const found = await findGroupNames(db, account, level, idsIn(values))
    return values.map(({ value, clicks }) => {
      const group = found.get(value as number)
      if (group === undefined) return { label: groupText(value, without), clicks }
      const { color } = group
      const label = color === null ? html`<bdi>${group.name}</bdi>` : spaceLabel({ ...group, color })
      const page = `/app/${level}s/${value}?${periodQuery(reading.period)}`
      return { label: html`<a class="cover" href="${page}">${label}</a>`, clicks }
    })
  }
  return values.map(({ value, clicks }) => {
    const label = valueLabel(name, value)
    const page = name === 'referrers' && subject.level !== 'link' ? referrerPath(path, value) : null
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

/** Returns the texts of properties or of groups. */
export async function textsOf(
  { source: [db, account] }: Statistics,
  name: PropertyName | GroupName,
  values: readonly ValueClicks[],
): Promise<string[]> {
  if (!isGroup(name)) return values.map(({ value }) => valueText(name, value))
  const { level, without } = groups[name]
  const found = await findGroupNames(db, account, level, idsIn(values))
  return values.map(({ value }) => found.get(value as number)?.name ?? groupText(value, without))
}

/** Returns the text of clicks that belong to no known group. */
function groupText(value: ValueClicks['value'], without: string): string {
  return value === 'other' ? 'Others' : without
}

export function idsIn(values: readonly ValueClicks[]): number[] {
  return values.flatMap(({ value }) => (typeof value === 'number' ? value : []))
}

/** Renders the short link and its title; undefined if the link was deleted. */
function linkLabel(link: LinkName | undefined, shortUrl: ShortUrl): Part {
  if (link === undefined) return 'Deleted link'
  const text = html`<bdi>${shortUrlText(shortUrl(link.domain, link.alias))}</bdi>`
  const title = link.title === null ? null : html`<bdi class="bar-title">${link.title}</bdi>`
  return html`<a class="short-url cover" href="/app/links/${link.id}">${text}</a>${title}`
}

/** Renders the clicks by space and by domain as bars. Leaves out a single domain, and spaces without clicks. */
export async function groupBars(statistics: Statistics): Promise<Html | null> {
  const [db, account] = statistics.source
  const isSeveral = (await domainRecords.listAfter(db, account, 0, 2)).length > 1
  const names: readonly GroupName[] = isSeveral ? ['spaces', 'domains'] : ['spaces']
  const bars = await Promise.all(names.map((name) => barsOfGroups(statistics, name)))
  return bars.every((each) => each === null) ? null : html`<div class="breakdowns">${bars}</div>`
}

async function barsOfGroups(statistics: Statistics, name: GroupName): Promise<Html | null> {
  const ranking = await rankValues(statistics, name)
  const hasGroups = ranking.size > [null, 'other'].filter((value) => ranking.countClicks(value) > 0).length
  return hasGroups ? topBars(statistics, name, ranking, shownValues) : null
}
