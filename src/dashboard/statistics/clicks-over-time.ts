import { type Calendar, dayMs, dayText, hourMs } from '../../analytics/calendar.ts'
import type { DayRange, Interval } from '../../analytics/statistics/day-range.ts'
import type { Counts, Series } from '../../analytics/statistics/series.ts'
import { type Html, html } from '../../http/html.ts'
import { areaChart, totalOf } from '../charts/area-chart.ts'
import { currentHourOf } from '../charts/period.ts'
import { formatDay, formatDayRange } from '../parts/format.ts'
import { figures } from './figures.ts'
import { periodBar } from './period-bar.ts'
import type { Statistics } from './statistics.ts'

/** Renders the period menu, the figures and the chart. */
export async function clicksOverTime(statistics: Statistics): Promise<Html> {
  const { reading, calendar, path, subject } = statistics
  const { period } = reading
  const { range, interval, before } = period
  const time = Date.now()
  const currentHour = currentHourOf(period, calendar.localTimeOf(time))
  const now = await statistics.seriesOf(range, interval)
  const earlier = before && (await statistics.seriesOf(before, interval))
  const totals = before && earlier && (await totalsUntilNow(statistics, before, currentHour, earlier.totals))
  const chart = areaChart({
    buckets: now.buckets,
    localStarts: now.localStarts,
    timeZone: calendar.timeZone,
    started: now.startedAt(time),
    currentHour,
    interval,
    title: 'Human clicks over time',
    ...(before && earlier && { before: clicksBefore(now, earlier, (range.from - before.from) * dayMs, interval) }),
    ...(totals && { beforeUntilNow: totals.clicks }),
  })
  const bar = periodBar(reading, path, subject.scope === 'link')
  return html`${bar}${figures(now.totals, totals)}${before && comparison(before, currentHour, calendar)}${chart}<p class="muted">Unique visitors are counted per link and day, and added up. ${timeZoneText(calendar)} <a href="/app/account">Change<span class="hidden-text"> the time zone</span></a></p>`
}

/** Returns the totals of the previous period up to the current hour of its last day. */
async function totalsUntilNow(
  statistics: Statistics,
  { to }: DayRange,
  currentHour: number | null,
  totals: Counts,
): Promise<Counts> {
  if (currentHour === null) return totals
  const { buckets, localStarts } = await statistics.seriesOf({ from: to, to }, 'hour')
  const until = to * dayMs + currentHour * hourMs
  const later = totalOf(buckets.filter((_, at) => (localStarts[at] as number) >= until))
  return {
    clicks: totals.clicks - later.clicks,
    unique_clicks: totals.unique_clicks - later.unique_clicks,
    bots: totals.bots - later.bots,
    previews: totals.previews - later.previews,
  }
}

/** "Days and hours are in Europe/Berlin, since Nov 24, 2026." */
export function timeZoneText(calendar: Calendar): string {
  const { timeZone, sinceMs } = calendar
  const since = sinceMs === 0 ? '' : `, since ${formatDay(calendar.localTimeOf(sinceMs))}`
  return `Days and hours are in ${timeZone}${since}.`
}

/**
 * Returns the clicks of the previous period for each bucket of this one, which starts `shiftMs` later. Hours are compared
 * by the local time, because one of the periods can have a day of 23 or 25 hours.
 */
function clicksBefore(now: Series, earlier: Series, shiftMs: number, interval: Interval): number[] {
  const { buckets, localStarts } = earlier
  if (interval !== 'hour') return buckets.map(({ clicks }) => clicks)
  const sums = now.localStarts.map(() => 0)
  for (const [at, { clicks }] of buckets.entries()) {
    const local = (localStarts[at] as number) + shiftMs
    const place = Math.max(
      0,
      now.localStarts.findLastIndex((start) => start <= local),
    )
    sums[place] = (sums[place] as number) + clicks
  }
  return sums
}

function comparison({ from, to }: DayRange, currentHour: number | null, { timeZone }: Calendar): Html {
  const span = formatDayRange(dayText(from), dayText(to))
  const end = currentHour === null ? '' : `, up to ${String(currentHour).padStart(2, '0')}:00 ${timeZone}`
  return html`<p class="compared">Compared with ${span}${end}</p>`
}
