import { type Calendar, hourMs } from '../../accounts/calendar.ts'
import type { Counts } from '../../analytics/day.ts'
import { icon } from '../../frame/icons.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { formatCount, quantity } from '../../lib/format.ts'
import { areaChart, countLabels, type Earlier } from '../charts/area-chart.ts'
import { formatDay, formatPercent } from '../parts/format.ts'
import { comparisonText, earlierClicks } from './comparison.ts'
import { periodBar } from './period-bar.ts'
import type { Statistics } from './statistics.ts'

/**
 * Renders the period menu, the figures and the chart, which begins at the creation of the record. `createdAt` is RFC 3339,
 * and `allTime` is the number of clicks in all periods, if known.
 */
export async function clicksOverTime(statistics: Statistics, createdAt: string, allTime?: number): Promise<Html> {
  const { reading, calendar, path } = statistics
  const { period } = reading
  const time = Date.now()
  const now = await statistics.seriesOf(period.range, period.interval)
  const earlier = await earlierClicks(statistics, now, time)
  const [series, shown] = earlier === null ? await statistics.seriesSince(createdAt, now) : [now, period]
  const axis = statistics.axisOf(series, time, shown)
  const since = earlier === null && axis.interval === 'hour' ? hoursBefore(axis, Date.parse(createdAt)) : 0
  const chart = areaChart({
    ...axis,
    title: 'Clicks over time',
    before: earlier,
    buckets: axis.buckets.slice(since),
    localStarts: axis.localStarts.slice(since),
    started: axis.started - since,
  })
  const bar = periodBar({ reading, path, file: `${path}/clicks.csv` })
  const compared = comparisonText(statistics, earlier !== null)
  const totals = html`${figures(now.totals, earlier, allTime)}${compared}${uncounted(now.totals, earlier)}`
  return html`${statistics.live('period', bar)}${statistics.live('figures', totals)}${statistics.live('chart', chart)}<p class="muted small">Unique visitors are counted per link and day, and added up. ${timeZoneText(calendar)} <a href="/app/account">Change<span class="hidden-text"> the time zone</span></a></p>`
}

/** Returns the number of empty hours before a time in Unix milliseconds. At least two hours remain, which make a line. */
function hoursBefore({ buckets, started }: ReturnType<Statistics['axisOf']>, ms: number): number {
  const first = buckets.findIndex(
    ({ start_at, clicks, bots, previews }) => clicks + bots + previews > 0 || Date.parse(start_at) + hourMs > ms,
  )
  return Math.max(0, Math.min(first, started - 2))
}

/** "Days and hours are in Europe/Berlin, since Nov 24, 2026." */
export function timeZoneText(calendar: Calendar): string {
  const { timeZone, sinceMs } = calendar
  const since = sinceMs === 0 ? '' : `, since ${formatDay(calendar.localTimeAt(sinceMs))}`
  return `Days and hours are in ${timeZone}${since}.`
}

type Before = Pick<Earlier, 'phrase' | 'totals'> | null

/** Renders the clicks and the visitors of a period with their change, and the number of clicks in all periods, if known. */
function figures(now: Counts, earlier: Before, allTime: number | undefined): Html {
  const large = (['clicks', 'unique_clicks'] as const).map((name) =>
    figure(countLabels[name], now[name], changeOf(now, earlier, name)),
  )
  const all = allTime === undefined ? null : figure('Clicks, all time', allTime, null)
  return html`<dl class="figures">${large}${all}</dl>`
}

function figure(label: string, value: number, change: Html | null): Html {
  return html`<div><dt>${label}</dt><dd><span class="figure">${formatCount(value)}</span>${change}</dd></div>`
}

const explanations = {
  bots: 'Programs that say so in their user agent, such as search engines and monitoring.',
  previews: 'Programs that show a preview of a shared link, such as chats and social networks.',
} as const

/** Renders the visits that are not counted as one line that expands. */
export function uncounted(now: Counts, earlier: Before): Html {
  const rows = (['bots', 'previews'] as const).map(
    (name) =>
      html`<div><dt>${countLabels[name]}</dt><dd>${formatCount(now[name])}${changeOf(now, earlier, name)}</dd><dd class="muted">${explanations[name]}</dd></div>`,
  )
  return html`<details class="uncounted"><summary>${uncountedText(now)}</summary><dl>${rows}</dl></details>`
}

/** "853 bots and 331 previews not counted" */
function uncountedText({ bots, previews }: Counts): string {
  const counted = [bots > 0 && quantity(bots, 'bot'), previews > 0 && quantity(previews, 'preview')].filter(Boolean)
  return counted.length === 0 ? 'No bots or previews' : `${counted.join(' and ')} not counted`
}

function changeOf(now: Counts, earlier: Before, name: keyof Counts): Html | null {
  return earlier && changeSince(now[name], earlier.totals[name], earlier.phrase)
}

/** Renders a change as an arrow and a percentage; null if there is nothing to compare. */
export function changeSince(value: number, before: number, phrase: string): Html | null {
  if (value === 0 && before === 0) return null
  const title = `${formatCount(before)} in the ${phrase}`
  if (value === before) return html`<span class="change" title="${title}">no change</span>`
  const direction = value > before ? 'up' : 'down'
  const share: Part = before === 0 ? 'from 0' : formatPercent(Math.abs(value - before) / before)
  return html`<span class="change" title="${title}">${icon(direction)}<span class="hidden-text">${direction}</span> ${share}<span class="hidden-text"> compared with the ${phrase}</span></span>`
}
