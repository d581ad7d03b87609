import type { Calendar } from '../../analytics/calendar.ts'
import { type Html, html } from '../../http/html.ts'
import { areaChart } from '../charts/area-chart.ts'
import { bucketQuery, currentHourOf } from '../charts/period.ts'
import { formatDay } from '../parts/format.ts'
import { clicksByBucket, comparisonText, earlierClicks } from './comparison.ts'
import { figures, uncounted } from './figures.ts'
import { periodBar } from './period-bar.ts'
import type { Statistics } from './statistics.ts'

/** Renders the period menu, the figures and the chart. `allTime` is the number of clicks in all periods, if known. */
export async function clicksOverTime(statistics: Statistics, allTime?: number): Promise<Html> {
  const { reading, calendar, path } = statistics
  const { period } = reading
  const { range, interval } = period
  const time = Date.now()
  const now = await statistics.seriesOf(range, interval)
  const earlier = await earlierClicks(statistics, time)
  const chart = areaChart({
    buckets: now.buckets,
    localStarts: now.localStarts,
    timeZone: calendar.timeZone,
    started: now.startedAt(time),
    currentHour: currentHourOf(period, calendar.localTimeOf(time)),
    interval,
    title: 'Clicks over time',
    hrefOf: interval === 'hour' ? undefined : (place) => `${path}?${bucketQuery(period, place)}`,
    ...(earlier && {
      before: {
        phrase: earlier.phrase,
        clicks: clicksByBucket(period, now, earlier.series),
        untilNow: earlier.totals.clicks,
      },
    }),
  })
  const bar = periodBar({ reading, path, file: `${path}/clicks.csv` })
  const compared = comparisonText(statistics, earlier !== null)
  const totals = html`${figures({ now: now.totals, earlier, allTime })}${compared}${uncounted(now.totals, earlier)}`
  return html`${statistics.live('period', bar)}${statistics.live('figures', totals)}${statistics.live('chart', chart)}<p class="muted small">Unique visitors are counted per link and day, and added up. ${timeZoneText(calendar)} <a href="/app/account">Change<span class="hidden-text"> the time zone</span></a></p>`
}

/** "Days and hours are in Europe/Berlin, since Nov 24, 2026." */
export function timeZoneText(calendar: Calendar): string {
  const { timeZone, sinceMs } = calendar
  const since = sinceMs === 0 ? '' : `, since ${formatDay(calendar.localTimeOf(sinceMs))}`
  return `Days and hours are in ${timeZone}${since}.`
}
