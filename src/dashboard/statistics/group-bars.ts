import { readHours } from '../../analytics/statistics/store.ts'
import { domainRecords } from '../../domains/store.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { spaceRecords } from '../../spaces/store.ts'
import { periodQuery } from '../charts/period.ts'
import { barChart } from '../charts/small-charts.ts'
import { spaceLabel } from '../parts/links.ts'
import type { Statistics } from './statistics.ts'

/** The number of groups whose days are read, and of rows. The lists of groups show more. */
const [maxGroups, shownGroups] = [30, 8]

interface Group {
  readonly id: number
  readonly label: Part
}

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
    spaces.length > 0 && (await barsOf(statistics, 'space', bySpace)),
    domains.length > 1 && (await barsOf(statistics, 'domain', byDomain)),
  ].filter((each) => each instanceof Object)
  return bars.length === 0 ? null : html`<div class="breakdowns">${bars}</div>`
}

const words = {
  space: { title: 'Spaces', without: 'No space' },
  domain: { title: 'Domains', without: 'Deleted domains' },
}

async function barsOf(
  statistics: Statistics,
  scope: 'space' | 'domain',
  groups: readonly Group[],
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
