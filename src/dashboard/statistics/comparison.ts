import { dayMs, dayOf, dayText, hourMs } from '../../analytics/calendar.ts'
import type { DayRange } from '../../analytics/statistics/day-range.ts'
import type { Counts, Series } from '../../analytics/statistics/series.ts'
import { type Html, html } from '../../http/html.ts'
import { type ClicksBefore, totalOf } from '../charts/area-chart.ts'
import { comparisons, counterpartOf, currentHourOf, type Period } from '../charts/period.ts'
import { formatDay, formatDayRange } from '../parts/format.ts'
import type { Statistics } from './statistics.ts'

/** The clicks of an earlier period, up to the same hour if the current period is running. */
export interface Earlier {
  /** What the clicks are compared with: "previous period". */
  readonly phrase: string
  readonly totals: Counts
  readonly series: Series
}

/** Returns the clicks to compare with; null without a comparison or without visits in the earlier period. */
export async function earlierClicks(statistics: Statistics, now = Date.now()): Promise<Earlier | null> {
  const { period } = statistics.reading
  const { before, comparison, interval } = period
  if (before === null) return null
  const series = await statistics.seriesOf(before, interval)
  if (isEmpty(series.totals)) return null
  const hour = cutOffHour(period, statistics.calendar.localTimeOf(now))
  const later = hour === null ? null : await countsSince(statistics, before.to, hour)
  return { phrase: comparisons[comparison], totals: later ? difference(series.totals, later) : series.totals, series }
}

/** Returns the current hour if the last day of the earlier period is compared with a day that is still running. */
function cutOffHour(period: Period, localNow: number): number | null {
  const { before, interval } = period
  const hour = currentHourOf(period, localNow)
  if (before === null || hour === null) return null
  // Feb 29 has no counterpart in the year before.
  return interval === 'month' || counterpartOf(period, before.to) === dayOf(localNow) ? hour : null
}

async function countsSince(statistics: Statistics, day: number, hour: number): Promise<Counts> {
  const { buckets, localStarts } = await statistics.seriesOf({ from: day, to: day }, 'hour')
  const start = day * dayMs + hour * hourMs
  return totalOf(buckets.filter((_, at) => (localStarts[at] as number) >= start))
}

function difference(counts: Counts, other: Counts): Counts {
  return {
    clicks: counts.clicks - other.clicks,
    unique_clicks: counts.unique_clicks - other.unique_clicks,
    bots: counts.bots - other.bots,
    previews: counts.previews - other.previews,
  }
}

function isEmpty({ clicks, bots, previews }: Counts): boolean {
  return clicks + bots + previews === 0
}

/** Returns the earlier clicks, by bucket of the period, for a chart. */
export function comparedClicks(period: Period, now: Series, { phrase, series, totals }: Earlier): ClicksBefore {
  return { phrase, clicks: clicksByBucket(period, now, series), untilNow: totals.clicks }
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
    const day = dayOf(start)
    const local = counterpartOf(period, day) * dayMs + start - day * dayMs
    const place = now.localStarts.findLastIndex((each) => each <= local)
    const index = Math.max(0, place)
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
  const oldest = retentionDays === 0 ? 0 : dayOf(now) - retentionDays
  return html`<p class="compared">${sentences(before, hasEarlier, cutOffHour(period, calendar.localTimeOf(now)), oldest)}</p>`
}

function sentences({ from, to }: DayRange, hasEarlier: boolean, hour: number | null, oldest: number): string {
  const span = `vs. ${formatDayRange(dayText(from), dayText(to))}`
  if (!hasEarlier && to < oldest) return `${span}: these statistics have been deleted, so there is no comparison.`
  if (!hasEarlier) return `${span}: no visits then, so there is no comparison.`
  const deleted = from < oldest ? ` Statistics from before ${formatDay(oldest * dayMs)} have been deleted.` : ''
  return `${span}${hour === null ? '' : ', up to the same hour'}.${deleted}`
}
