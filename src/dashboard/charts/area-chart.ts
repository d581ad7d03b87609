import { area, line } from 'd3-shape'
import { type Html, html } from '../../http/html.ts'
import type { Bucket } from '../../stats/series.ts'
import { count, counted, shortCount } from '../parts/number.ts'
import { bucketLabel, bucketName, type ClicksOverTime, labelledPlaces } from './buckets.ts'
import { type Axis, axisOf, plotHeight, plotWidth, rounded, xOf } from './chart-scale.ts'
import { chartTable } from './chart-table.ts'

/** Room above the plot for half a label, and below it for the labels of the time. Pixels. */
const top = 10
const height = top + plotHeight + 26

/** Clicks over time, with the same figures as a table. `scripts/chart.js` shows the figure under the pointer. */
export function areaChart(chart: ClicksOverTime): Html {
  const { buckets, before, title } = chart
  const axis = axisOf([...buckets.map(({ clicks }) => clicks), ...(before ?? [])])
  const isEmpty = buckets.every(({ clicks }) => clicks === 0)
  return html`<figure class="chart">
<figcaption>${title}</figcaption>
<output class="chart-reading">${isEmpty ? 'No clicks in this period' : null}</output>
<div class="chart-drawing">${axisDrawing(axis)}${plotDrawing(chart, axis)}</div>
${before === undefined ? null : key}
${chartTable(chart)}
</figure>`
}

/** What the two lines stand for. */
const key = html`<p class="chart-key" aria-hidden="true">${[
  ['chart-line', 'This period'],
  ['chart-before', 'The period before'],
].map(
  ([name = '', text = '']) =>
    html`<span><svg width="20" height="8"><path class="${name}" d="M0,4H20"/></svg> ${text}</span>`,
)}</p>`

function axisDrawing({ ticks, y }: Axis): Html {
  const labels = ticks.map((tick) => ({ text: shortCount(tick), y: rounded(top + y(tick)) }))
  const width = Math.max(...labels.map(({ text }) => text.length)) * 0.65 + 0.5
  return html`<svg class="chart-axis" width="${rounded(width)}em" height="${height}" aria-hidden="true">${labels.map(
    (label) => html`<text x="100%" dx="-0.5em" y="${label.y}" dy="0.35em" text-anchor="end">${label.text}</text>`,
  )}</svg>`
}

/** The lines are stretched to the width that there is; texts, hairlines and dots are not. */
function plotDrawing(chart: ClicksOverTime, axis: Axis): Html {
  const grid = axis.ticks.map((tick) => rounded(top + axis.y(tick)))
  return html`<svg class="chart-plot" width="100%" height="${height}" role="img" aria-label="${gistOf(chart)}">
<g class="chart-grid">${grid.map((y) => html`<line x1="0" x2="100%" y1="${y}" y2="${y}"/>`)}</g>
<svg y="${top}" width="100%" height="${plotHeight}" viewBox="0 0 ${plotWidth} ${plotHeight}" preserveAspectRatio="none">${lines(chart, axis)}</svg>
${onlyDot(chart, axis)}
<g class="chart-times">${timeLabels(chart)}</g>
<line class="chart-cursor" y1="${top}" y2="${top + plotHeight}" visibility="hidden"/>
<circle class="chart-dot chart-pointed" r="4" visibility="hidden"/>
<svg y="${top}" width="100%" height="${plotHeight}" viewBox="0 0 ${plotWidth} ${plotHeight}" preserveAspectRatio="none">${columns(chart, axis)}</svg>
</svg>`
}

function lines({ buckets, before }: ClicksOverTime, { y }: Axis): Html {
  const x = (_: unknown, place: number) => xOf(place, buckets.length)
  const clicks = buckets.map((bucket) => bucket.clicks)
  const lineOf = line<number>(x, y)
  return html`<path class="chart-area" d="${area<number>(x, plotHeight, y)(clicks)}"/>${
    before ? html`<path class="chart-before" d="${lineOf(before.slice(0, buckets.length))}"/>` : null
  }<path class="chart-line" d="${lineOf(clicks)}"/>`
}

/** A line needs two points. */
function onlyDot({ buckets: [only, ...others] }: ClicksOverTime, { y }: Axis): Html | null {
  if (only === undefined || others.length > 0) return null
  return html`<circle class="chart-dot" cx="50%" cy="${rounded(top + y(only.clicks))}" r="4"/>`
}

function timeLabels({ buckets, interval }: ClicksOverTime): Html[] {
  return labelledPlaces(buckets.length, interval).map((place) => {
    const x = xOf(place, buckets.length) / 10
    const anchor = x < 5 ? 'start' : x > 95 ? 'end' : 'middle'
    const text = bucketLabel((buckets[place] as Bucket).start_at, interval)
    return html`<text x="${rounded(x)}%" y="${height - 6}" text-anchor="${anchor}">${text}</text>`
  })
}

/** A column for each bucket takes the pointer, and says the figure where there is no script. `data-y` is where the line is. */
function columns({ buckets, before, interval }: ClicksOverTime, { y }: Axis): Html[] {
  const width = rounded(plotWidth / Math.max(1, buckets.length - 1))
  return buckets.map(({ start_at, clicks }, place) => {
    const left = Math.max(0, xOf(place, buckets.length) - width / 2)
    const right = Math.min(plotWidth, xOf(place, buckets.length) + width / 2)
    const earlier = before?.[place]
    const text = `${bucketName(start_at, interval)}: ${counted(clicks, 'click')}${earlier === undefined ? '' : `, ${count(earlier)} before`}`
    return html`<rect class="chart-column" x="${rounded(left)}" width="${rounded(right - left)}" height="${plotHeight}" data-y="${rounded(top + y(clicks))}"><title>${text}</title></rect>`
  })
}

/** What the drawing says, in a sentence or two. */
function gistOf({ buckets, interval, title }: ClicksOverTime): string {
  const nameOf = ({ start_at }: Bucket) => bucketName(start_at, interval)
  const [first, last] = [buckets.at(0) as Bucket, buckets.at(-1) as Bucket]
  const range = first === last ? nameOf(first) : `${nameOf(first)} to ${nameOf(last)}`
  const total = buckets.reduce((sum, { clicks }) => sum + clicks, 0)
  if (total === 0) return `${title}, ${range}: no clicks.`
  const highest = buckets.reduce((most, bucket) => (bucket.clicks > most.clicks ? bucket : most))
  return `${title}, ${range}: ${counted(total, 'click')}. The peak was ${count(highest.clicks)}: ${nameOf(highest)}.`
}
