/** The frame of a chart over time: grid, axes and columns, and the names of hours, days and months. */
import { scaleLinear } from 'd3-scale'
import { dayMs } from '../../accounts/calendar.ts'
import type { Interval } from '../../analytics/statistics/day-range.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { formatCount } from '../../lib/format.ts'
import { attributes } from '../parts/buttons.ts'
import { formatShortCount } from '../parts/format.ts'

/** The size of the plot, in which only lines stretch: its width in units that stretch to the available width, its height in pixels. */
export const plotWidth = 1_000
export const plotHeight = 200

/** Space above the plot for half a label, and total height with the time labels. In pixels. */
const top = 10
const height = top + plotHeight + 26

export type Axis = ReturnType<typeof createAxis>

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

interface Chart {
  readonly time: TimeAxis
  readonly title: string
  /** Describes the chart. */
  readonly summary: string
  readonly axis: Axis
  /** Stretches to the available width. */
  readonly lines: Part
  /** Marks on the lines, which don't stretch. */
  readonly marks: Part
  readonly legend: Html | null
  /** Describes a bucket. */
  readonly reading: (index: number) => string
  /** Returns the clicks of a bucket in each line. */
  readonly clicksOf: (index: number) => readonly number[]
  readonly table: BucketTable
}

/** Figures for each bucket, in a table or a file. */
export interface BucketTable {
  /** The headers of the figures. */
  readonly columns: readonly string[]
  /** Returns the figures of a bucket; null for an empty cell. */
  readonly figuresOf: (index: number) => readonly (number | null)[]
}

/** Renders a chart with its table. `scripts/chart.js` shows the values under the pointer in an `output`. */
export function renderChart(chart: Chart): Html {
  const { time, title, clicksOf } = chart
  const isEmpty = time.buckets.every((_, index) => clicksOf(index).every((clicks) => clicks === 0))
  const state = time.started === 0 ? 'This period hasn’t started yet' : isEmpty ? 'No clicks in this period' : null
  return html`<figure class="chart">
<figcaption class="hidden-text">${title}</figcaption>
<p class="chart-state">${state}</p>
<div class="chart-drawing">${valueAxis(chart.axis)}${drawing(chart)}<output class="chart-reading"></output></div>
${chart.legend}
${tableOf(chart)}
</figure>`
}

function valueAxis({ ticks, y }: Axis): Html {
  const labels = ticks.map((tick) => ({ text: formatShortCount(tick), y: rounded(top + y(tick)) }))
  const width = Math.max(...labels.map(({ text }) => text.length)) * 0.65 + 0.5
  return html`<svg class="chart-axis" width="${rounded(width)}em" height="${height}" aria-hidden="true">${labels.map(
    (label) => html`<text x="100%" dx="-0.5em" y="${label.y}" dy="0.35em" text-anchor="end">${label.text}</text>`,
  )}</svg>`
}

function drawing(chart: Chart): Html {
  const { axis, summary, lines, marks, time, clicksOf } = chart
  const grid = axis.ticks.map((tick) => rounded(top + axis.y(tick)))
  const stretched = html`y="${top}" width="100%" height="${plotHeight}" viewBox="0 0 ${plotWidth} ${plotHeight}" preserveAspectRatio="none"`
  const pointed = clicksOf(0).map(() => html`<circle class="chart-dot chart-pointed" r="4" visibility="hidden"/>`)
  return html`<svg class="chart-plot" width="100%" height="${height}" role="img" aria-label="${summary}">
<g class="chart-grid">${grid.map((y) => html`<line x1="0" x2="100%" y1="${y}" y2="${y}"/>`)}</g>
<svg ${stretched}>${lines}</svg>
${marks}
<g class="chart-times">${timeLabels(time)}</g>
<line class="chart-cursor" y1="${top}" y2="${top + plotHeight}" visibility="hidden"/>
${pointed}
<svg ${stretched}>${columns(chart)}</svg>
</svg>`
}

function timeLabels(time: TimeAxis): Html[] {
  const { length } = time.buckets
  return labelIndexes(length, time.interval).map((index) => {
    const x = xPercent(index, length)
    const anchor = x < 5 ? 'start' : x > 95 ? 'end' : 'middle'
    return html`<text x="${x}%" y="${height - 6}" text-anchor="${anchor}">${axisLabel(time, index)}</text>`
  })
}

/**
 * Renders a column for each started bucket. It receives the pointer, and its title shows its values without scripts. The
 * table has its link.
 */
function columns({ time, axis, reading, clicksOf }: Chart): Html[] {
  const { buckets, started } = time
  const width = rounded(plotWidth / Math.max(1, buckets.length - 1))
  const href = (index: number) => attributes({ 'data-href': time.hrefOf?.(index) ?? null })
  return Array.from({ length: started }, (_, index) => {
    const left = Math.max(0, xPosition(index, buckets.length) - width / 2)
    const right = Math.min(plotWidth, xPosition(index, buckets.length) + width / 2)
    const ys = clicksOf(index).map((clicks) => yPixels(axis, clicks))
    return html`<rect class="chart-column" x="${rounded(left)}" width="${rounded(right - left)}" height="${plotHeight}" data-x="${xPercent(index, buckets.length)}%" data-y="${ys.join(' ')}"${href(index)}><title>${reading(index)}</title></rect>`
  })
}

/** Returns the position in the plot. */
export function xPosition(index: number, count: number): number {
  return rounded(count > 1 ? (index / (count - 1)) * plotWidth : plotWidth / 2)
}

/** Returns the position in percent of the available width. */
export function xPercent(index: number, count: number): number {
  return rounded((xPosition(index, count) / plotWidth) * 100)
}

/** Returns the distance from the top of the drawing in pixels. */
export function yPixels({ y }: Axis, clicks: number): number {
  return rounded(top + y(clicks))
}

function rounded(number: number): number {
  return Math.round(number * 10) / 10
}

export interface TimeAxis {
  /** All buckets of the range, empty ones included; at least one. */
  readonly buckets: readonly { readonly start_at: string }[]
  /** The start of each bucket in local time, as if it was UTC. */
  readonly localStarts: readonly number[]
  readonly timeZone: string
  readonly started: number
  /** The current hour; null unless the last started bucket is still running. */
  readonly currentHour: number | null
  readonly interval: Interval
  /** Returns the URL of a page about a bucket, if there is one. */
  readonly hrefOf?: ((index: number) => string) | undefined
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

/** Returns the name of a bucket. When clocks go back, two hours have the same name and get their offsets. */
export function bucketName({ buckets, localStarts, interval }: TimeAxis, index: number): string {
  const local = localStarts[index] as number
  const name = long[interval].format(local)
  if (localStarts.indexOf(local) === localStarts.lastIndexOf(local)) return name
  const offset = local - Date.parse((buckets[index] as TimeAxis['buckets'][number]).start_at)
  return `${name} (${offsetText(offset / 60_000)})`
}

/** "UTC+1", "UTC-3:30" */
function offsetText(minutes: number): string {
  const rest = Math.abs(minutes) % 60
  const hours = Math.floor(Math.abs(minutes) / 60)
  return `UTC${minutes < 0 ? '-' : '+'}${hours}${rest === 0 ? '' : `:${String(rest).padStart(2, '0')}`}`
}

/** Returns the name of a bucket, and whether it is still running. */
export function bucketTitle(axis: TimeAxis, index: number): string {
  const { started, currentHour } = axis
  const name = bucketName(axis, index)
  return currentHour !== null && index === started - 1 ? `${name}, so far` : name
}

/** Renders the title of a bucket as a link to its page. */
function bucketLink(axis: TimeAxis, index: number): Part {
  const title = bucketTitle(axis, index)
  return axis.hrefOf === undefined ? title : html`<a href="${axis.hrefOf(index)}">${title}</a>`
}

/** Returns "Wed, Nov 18, 2026 to Sun, Nov 22, 2026, so far": all buckets that have started. */
export function startedRange(axis: TimeAxis): string {
  const last = bucketTitle(axis, axis.started - 1)
  return axis.started === 1 ? last : `${bucketTitle(axis, 0)} to ${last}`
}

/** Returns the label of a bucket on the axis. Midnight shows the day. */
function axisLabel({ localStarts, interval }: TimeAxis, index: number): string {
  const local = localStarts[index] as number
  return short[interval === 'hour' && local % dayMs === 0 ? 'day' : interval].format(local)
}

/** Returns the first column's header in tables. */
export function axisHeading({ interval, timeZone }: Pick<TimeAxis, 'interval' | 'timeZone'>): string {
  return { hour: `Hour (${timeZone})`, day: 'Day', month: 'Month' }[interval]
}

/** Returns the indexes of at most four labels, including the first and the last. Hours are at midnight or noon. */
export function labelIndexes(count: number, interval: Interval): number[] {
  const last = count - 1
  if (interval === 'hour') {
    const days = Math.ceil(count / 24)
    const step = days > 2 ? 24 * Math.ceil(days / 3) : 12 * days
    const indexes = Array.from({ length: Math.ceil(count / step) }, (_, n) => n * step)
    return [...new Set([0, ...indexes.filter((index) => index <= last - step / 2), last])]
  }
  const steps = Math.min(3, last)
  return steps === 0 ? [0] : Array.from({ length: steps + 1 }, (_, n) => Math.round((n * last) / steps))
}

/** Renders the collapsed table of a chart, with a row for each started bucket. */
function tableOf({ time, title, table: { columns, figuresOf } }: Chart): Html {
  const row = (name: Part, figures: readonly (number | null)[]) =>
    html`<tr><th scope="row">${name}</th>${figures.map((figure) => html`<td>${figure === null ? null : formatCount(figure)}</td>`)}</tr>`
  const figures = Array.from({ length: time.started }, (_, index) => figuresOf(index))
  const totals = columns.map((_, column) => sum(figures.map((all) => all[column] ?? 0)))
  return html`<details class="chart-table"><summary>Show as table</summary><div class="chart-scroll" tabindex="0" role="group" aria-label="${title}"><table>
<thead><tr>${[axisHeading(time), ...columns].map((column) => html`<th scope="col">${column}</th>`)}</tr></thead>
<tbody>${figures.map((each, index) => row(bucketLink(time, index), each))}</tbody>
<tfoot>${row('Total', totals)}</tfoot>
</table></div></details>`
}

/** Returns the sum, in which null counts as 0. */
export function sum(figures: readonly (number | null)[]): number {
  return figures.reduce<number>((total, figure) => total + (figure ?? 0), 0)
}
