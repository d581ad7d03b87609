import { scaleLinear } from 'd3-scale'
import { area, line } from 'd3-shape'
import type { Interval } from '../../analytics/statistics/day-range.ts'
import type { Bucket, Counts } from '../../analytics/statistics/series.ts'
import { type Html, html } from '../../http/html.ts'
import { formatCount, formatShortCount, quantity } from '../parts/format.ts'

/** The size of the plot: its width in units that stretch to the available width, its height in pixels. */
export const plotWidth = 1_000
export const plotHeight = 200

/** Space above the plot for half a label, and total height with the time labels. In pixels. */
const top = 10
const height = top + plotHeight + 26

/** Renders clicks over time as a chart and a table. `scripts/chart.js` shows the value under the pointer. */
export function areaChart(chart: ClicksChart): Html {
  const { buckets, before, title } = chart
  const axis = createAxis([...buckets.map(({ clicks }) => clicks), ...(before ?? [])])
  return html`<figure class="chart">
<figcaption>${title}</figcaption>
<p class="chart-state">${emptyText(chart)}</p>
<div class="chart-drawing">${axisDrawing(axis)}${plotDrawing(chart, axis)}<output class="chart-reading"></output></div>
${legend(chart)}
${chartTable(chart)}
</figure>`
}

function emptyText({ buckets, started }: ClicksChart): string | null {
  if (started === 0) return 'This period hasn’t started yet'
  return buckets.every(({ clicks }) => clicks === 0) ? 'No clicks in this period' : null
}

function legend({ before, started, currentHour }: ClicksChart): Html | null {
  const lines = [
    ['chart-line', 'This period', before !== undefined || currentHour !== null],
    ['chart-line chart-running', 'So far', currentHour !== null && started > 1],
    ['chart-before', 'Previous period', before !== undefined],
  ] as const
  const shown = lines.filter(([, , isShown]) => isShown)
  if (shown.length === 0) return null
  const keys = shown.map(
    ([name, text]) => html`<span><svg width="20" height="8"><path class="${name}" d="M0,4H20"/></svg> ${text}</span>`,
  )
  return html`<p class="chart-key" aria-hidden="true">${keys}</p>`
}

function axisDrawing({ ticks, y }: Axis): Html {
  const labels = ticks.map((tick) => ({ text: formatShortCount(tick), y: rounded(top + y(tick)) }))
  const width = Math.max(...labels.map(({ text }) => text.length)) * 0.65 + 0.5
  return html`<svg class="chart-axis" width="${rounded(width)}em" height="${height}" aria-hidden="true">${labels.map(
    (label) => html`<text x="100%" dx="-0.5em" y="${label.y}" dy="0.35em" text-anchor="end">${label.text}</text>`,
  )}</svg>`
}

/** Renders the plot. Only lines stretch to the available width. */
function plotDrawing(chart: ClicksChart, axis: Axis): Html {
  const grid = axis.ticks.map((tick) => rounded(top + axis.y(tick)))
  return html`<svg class="chart-plot" width="100%" height="${height}" role="img" aria-label="${summaryOf(chart)}">
<g class="chart-grid">${grid.map((y) => html`<line x1="0" x2="100%" y1="${y}" y2="${y}"/>`)}</g>
<svg y="${top}" width="100%" height="${plotHeight}" viewBox="0 0 ${plotWidth} ${plotHeight}" preserveAspectRatio="none">${lines(chart, axis)}</svg>
${onlyDot(chart, axis)}
<g class="chart-times">${timeLabels(chart)}</g>
<line class="chart-cursor" y1="${top}" y2="${top + plotHeight}" visibility="hidden"/>
<circle class="chart-dot chart-pointed" r="4" visibility="hidden"/>
<svg y="${top}" width="100%" height="${plotHeight}" viewBox="0 0 ${plotWidth} ${plotHeight}" preserveAspectRatio="none">${columns(chart, axis)}</svg>
</svg>`
}

/** The line ends at the current time; the running bucket is dashed. */
function lines({ buckets, started, currentHour, before }: ClicksChart, { y }: Axis): Html {
  const clicks = buckets.slice(0, started).map((bucket) => bucket.clicks)
  const over = currentHour === null ? started : started - 1
  const from = (first: number) => (_: unknown, place: number) => xPosition(first + place, buckets.length)
  const path = (className: string, first: number, figures: readonly number[]) =>
    html`<path class="${className}" d="${line<number>(from(first), y)([...figures])}"/>`
  const running = currentHour !== null && started > 1 && path('chart-line chart-running', over - 1, clicks.slice(-2))
  return html`<path class="chart-area" d="${area<number>(from(0), plotHeight, y)(clicks)}"/>${
    before ? path('chart-before', 0, before.slice(0, buckets.length)) : null
  }${path('chart-line', 0, clicks.slice(0, over))}${running || null}`
}

/** Renders a dot if only one bucket has started, because a line needs two points. */
function onlyDot({ buckets, started }: ClicksChart, { y }: Axis): Html | null {
  const [only] = buckets
  if (only === undefined || started !== 1) return null
  return html`<circle class="chart-dot" cx="${xPercent(0, buckets.length)}%" cy="${rounded(top + y(only.clicks))}" r="4"/>`
}

function timeLabels(chart: ClicksChart): Html[] {
  const { buckets, interval } = chart
  return labelIndexes(buckets.length, interval).map((place) => {
    const x = xPercent(place, buckets.length)
    const anchor = x < 5 ? 'start' : x > 95 ? 'end' : 'middle'
    const date = localStart(chart, place)
    // Midnight shows the day.
    const format = short[interval === 'hour' && date.getUTCHours() === 0 ? 'day' : interval]
    return html`<text x="${x}%" y="${height - 6}" text-anchor="${anchor}">${format.format(date)}</text>`
  })
}

function xPercent(place: number, count: number): number {
  return rounded((xPosition(place, count) / plotWidth) * 100)
}

/** Renders a column for each started bucket. It receives the pointer, and its title shows its value without scripts. */
function columns(chart: ClicksChart, { y }: Axis): Html[] {
  const { buckets, started } = chart
  const before = clicksBefore(chart)
  const width = rounded(plotWidth / Math.max(1, buckets.length - 1))
  return buckets.slice(0, started).map(({ clicks }, place) => {
    const left = Math.max(0, xPosition(place, buckets.length) - width / 2)
    const right = Math.min(plotWidth, xPosition(place, buckets.length) + width / 2)
    const earlier = before?.[place]
    const text = `${bucketTitle(chart, place)}: ${quantity(clicks, 'click')}${earlier === undefined ? '' : ` (previous period: ${formatCount(earlier)})`}`
    return html`<rect class="chart-column" x="${rounded(left)}" width="${rounded(right - left)}" height="${plotHeight}" data-x="${xPercent(place, buckets.length)}%" data-y="${rounded(top + y(clicks))}"><title>${text}</title></rect>`
  })
}

function summaryOf(chart: ClicksChart): string {
  const { buckets, started, title } = chart
  if (started === 0) return `${title}: ${bucketName(chart, 0)} hasn’t started yet.`
  const all = buckets.slice(0, started)
  const range = started === 1 ? bucketTitle(chart, 0) : `${bucketTitle(chart, 0)} to ${bucketTitle(chart, started - 1)}`
  const total = totalOf(all).clicks
  if (total === 0) return `${title}, ${range}: no clicks.`
  const peak = all.reduce((most, bucket) => (bucket.clicks > most.clicks ? bucket : most))
  return `${title}, ${range}: ${quantity(total, 'click')}. Peak: ${formatCount(peak.clicks)} (${bucketName(chart, all.indexOf(peak))}).`
}

/** The labels of all counts, in the order of figures and table columns. */
export const countLabels = {
  clicks: 'Clicks',
  unique_clicks: 'Unique visitors',
  bots: 'Bots',
  previews: 'Previews',
} satisfies Record<keyof Counts, string>
const names = Object.keys(countLabels) as (keyof Counts)[]
const firstColumn = { hour: 'Hour', day: 'Day', month: 'Month' }

function chartTable(chart: ClicksChart): Html {
  const { started, interval, title, timeZone = 'UTC' } = chart
  const before = clicksBefore(chart)
  const buckets = chart.buckets.slice(0, started)
  const columns = [...Object.values(countLabels), ...(before ? ['Clicks in the previous period'] : [])]
  const row = (name: string, counts: Counts, earlier: number | undefined) =>
    html`<tr><th scope="row">${name}</th>${names.map((each) => html`<td>${formatCount(counts[each])}</td>`)}${
      before ? html`<td>${earlier === undefined ? null : formatCount(earlier)}</td>` : null
    }</tr>`
  return html`<details class="chart-table"><summary>Show as table</summary><div class="chart-scroll" tabindex="0" role="group" aria-label="${title}"><table>
<thead><tr><th scope="col">${firstColumn[interval]}${interval === 'hour' ? ` (${timeZone})` : null}</th>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead>
<tbody>${buckets.map((bucket, place) => row(bucketTitle(chart, place), bucket, before?.[place]))}</tbody>
<tfoot>${row('Total', totalOf(buckets), before && sum(before))}</tfoot>
</table></div></details>`
}

export function totalOf(buckets: readonly Bucket[]): Counts {
  const of = (name: keyof Counts) => sum(buckets.map((bucket) => bucket[name]))
  return { clicks: of('clicks'), unique_clicks: of('unique_clicks'), bots: of('bots'), previews: of('previews') }
}

function sum(figures: readonly number[]): number {
  return figures.reduce((total, figure) => total + figure, 0)
}

export interface ClicksChart {
  /** All buckets of the range, empty ones included; at least one. */
  readonly buckets: readonly Bucket[]
  /** The start of each bucket in local time, as if it was UTC; in UTC by default. */
  readonly localStarts?: readonly number[]
  /** UTC by default. */
  readonly timeZone?: string
  readonly started: number
  /** The current hour; null unless the last started bucket is still running. */
  readonly currentHour: number | null
  readonly before?: readonly number[]
  readonly beforeUntilNow?: number
  readonly interval: Interval
  readonly title: string
}

const utc = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat('en-US', { timeZone: 'UTC', ...options })
const [year, month, day, weekday] = ['numeric', 'short', 'numeric', 'short'] as const
const time = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const

/** `Nov 22, 2026, 15:00`, `Sun, Nov 22, 2026`, `November 2026`; for the axis `15:00`, `Nov 22`, `Nov 2026`. */
const long = {
  hour: utc({ day, month, year, ...time }),
  day: utc({ weekday, day, month, year }),
  month: utc({ month: 'long', year }),
}
const short = { hour: utc(time), day: utc({ day, month }), month: utc({ month, year }) }

/** Returns the start of a bucket in local time, as if it was UTC. */
function localStart({ buckets, localStarts }: ClicksChart, place: number): Date {
  return new Date(localStarts?.[place] ?? (buckets[place] as Bucket).start_at)
}

function bucketName(chart: ClicksChart, place: number): string {
  return long[chart.interval].format(localStart(chart, place))
}

function bucketTitle(chart: ClicksChart, place: number): string {
  const { started, currentHour } = chart
  const name = bucketName(chart, place)
  return currentHour !== null && place === started - 1 ? `${name}, so far` : name
}

/** Returns the clicks of the previous period for each started bucket. Their sum is `beforeUntilNow`. */
function clicksBefore({ before, beforeUntilNow, started }: ClicksChart): readonly number[] | undefined {
  if (before === undefined || beforeUntilNow === undefined) return before?.slice(0, started)
  const over = before.slice(0, Math.max(0, started - 1))
  return [...over, beforeUntilNow - sum(over)]
}

/** Returns the indexes of at most four labels, including the first and the last. Hours are at midnight or noon. */
export function labelIndexes(count: number, interval: Interval): number[] {
  const last = count - 1
  if (interval === 'hour') {
    const days = Math.ceil(count / 24)
    const step = days > 2 ? 24 * Math.ceil(days / 3) : 12 * days
    const places = Array.from({ length: Math.ceil(count / step) }, (_, n) => n * step)
    return [...new Set([0, ...places.filter((place) => place <= last - step / 2), last])]
  }
  const steps = Math.min(3, last)
  return steps === 0 ? [0] : Array.from({ length: steps + 1 }, (_, n) => Math.round((n * last) / steps))
}

type Axis = ReturnType<typeof createAxis>

/** Returns at most four round values from 0, which the axis labels, and a function for the distance from the top. */
export function createAxis(figures: readonly number[]) {
  const most = figures.reduce((max, figure) => Math.max(max, figure), 1)
  let scale = scaleLinear([0, most], [plotHeight, 0]).nice(3)
  let ticks = scale.ticks(3)
  for (let count = 2; count > 0 && (ticks.length > 4 || !ticks.every(Number.isInteger)); count--) {
    scale = scaleLinear([0, most], [plotHeight, 0]).nice(count)
    ticks = scale.ticks(count)
  }
  return { ticks, y: (clicks: number) => rounded(scale(clicks)) }
}

function xPosition(place: number, count: number): number {
  return rounded(count > 1 ? (place / (count - 1)) * plotWidth : plotWidth / 2)
}

function rounded(number: number): number {
  return Math.round(number * 10) / 10
}
