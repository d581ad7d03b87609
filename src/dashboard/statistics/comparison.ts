import { dayMs, dayText, hourMs, toUtcDay } from '../../accounts/calendar.ts'
import type { Counts } from '../../analytics/day.ts'
import type { Bucket, Series } from '../../analytics/statistics/series.ts'
import { readSeries } from '../../analytics/statistics/statistics.ts'
import { type Html, html } from '../../http/html.ts'
import type { Earlier } from '../charts/area-chart.ts'
import { comparisons, counterpartOf, currentHourOf, type Period } from '../charts/period.ts'
import { sum } from '../charts/plot.ts'
import { formatDay, formatDayRange } from '../parts/format.ts'
import type { Statistics } from './statistics.ts'

/** Returns the clicks to compare with; null without a comparison or without visits in the earlier period. */
export async function earlierClicks(statistics: Statistics, current: Series, now: number): Promise<Earlier | null> {
  const { period } = statistics.reading
  const { before, comparison, interval } = period
  if (before === null) return null
  const { source, calendar } = statistics
  const series = await readSeries(...source, calendar, before, interval)
  const { clicks, bots, previews } = series.totals
  if (clicks + bots + previews === 0) return null
  const hour = cutOffHour(period, calendar.localTimeAt(now))
  const lastDay = { from: before.to, to: before.to }
  const later =
    hour === null ? [] : bucketsSince(await readSeries(...source, calendar, lastDay, 'hour'), before.to, hour)
  return {
    phrase: comparisons[comparison],
    totals: countsWithout(later, series.totals),
    clicks: clicksByBucket(period, current, series),
  }
}

/** Returns the current hour if the last day of the earlier period is compared with a day that is still running. */
function cutOffHour(period: Period, localNow: number): number | null {
  const { before, interval } = period
  const hour = currentHourOf(period, localNow)
  if (before === null || hour === null) return null
  // Feb 29 has no counterpart in the year before.
  return interval === 'month' || counterpartOf(period, before.to) === toUtcDay(localNow) ? hour : null
}

function bucketsSince({ buckets, localStarts }: Series, day: number, hour: number): Bucket[] {
  const start = day * dayMs + hour * hourMs
  return buckets.filter((_, at) => (localStarts[at] as number) >= start)
}

function countsWithout(buckets: readonly Bucket[], totals: Counts): Counts {
  const of = (name: keyof Counts) => totals[name] - sum(buckets.map((bucket) => bucket[name]))
  return { clicks: of('clicks'), unique_clicks: of('unique_clicks'), bots: of('bots'), previews: of('previews') }
}

/**
 * Returns the earlier clicks for each bucket of the period; null if the earlier period has no such day or hour. Hours are
 * compared by local time, because one of the periods can have a day of 23 or 25 hours.
 */
function clicksByBucket(period: Period, now: Series, earlier: Series): (number | null)[] {
  if (period.interval === 'month') return earlier.buckets.map(({ clicks }) => clicks)
  const sums = now.localStarts.map((): number | null => null)
  for (const [at, { clicks }] of earlier.buckets.entries()) {
    const start = earlier.localStarts[at] as number
    const day = toUtcDay(start)
    const local = counterpartOf(period, day) * dayMs + start - day * dayMs
    const index = Math.max(
      0,
      now.localStarts.findLastIndex((each) => each <= local),
    )
    sums[index] = (sums[index] ?? 0) + clicks
  }
  return sums
}

/** Says what the figures are compared with, and why there is nothing to compare with. */
export function comparisonText({ reading, calendar, retentionDays }: Statistics, hasEarlier: boolean): Html | null {
  const { period } = reading
  const { before } = period
  if (before === null) return null
  const now = Date.now()
  const oldest = retentionDays === 0 ? 0 : toUtcDay(now) - retentionDays
  const hour = cutOffHour(period, calendar.localTimeAt(now))
  const why = before.to < oldest ? 'these statistics have been deleted' : 'no visits then'
  const deleted = before.from < oldest ? ` Statistics from before ${formatDay(oldest * dayMs)} have been deleted.` : ''
  const rest = hasEarlier
    ? `${hour === null ? '' : ', up to the same hour'}.${deleted}`
    : `: ${why}, so there is no comparison.`
  return html`<p class="compared">vs. ${formatDayRange(dayText(before.from), dayText(before.to))}${rest}</p>`
}
