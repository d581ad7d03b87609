/** One line per link in the same chart. The lines differ in color, dashes and markers. */
import { line, symbol, symbolCircle, symbolCross, symbolDiamond, symbolSquare, symbolTriangle } from 'd3-shape'
import { type Html, html } from '../../http/html.ts'
import { formatCount, quantity } from '../../lib/format.ts'
import {
  type Axis,
  bucketTitle,
  createAxis,
  labelIndexes,
  renderChart,
  startedRange,
  sum,
  type TimeAxis,
  xPercent,
  xPosition,
  yPixels,
} from './plot.ts'

interface LineChart extends TimeAxis {
  readonly title: string
  /** At most as many as there are markers. */
  readonly lines: readonly Line[]
}

interface Line {
  readonly label: string
  /** The clicks in each bucket. */
  readonly clicks: readonly number[]
}

/** One for each of `maxCompared` links. */
const markers = [symbolCircle, symbolSquare, symbolTriangle, symbolDiamond, symbolCross]

/** Renders a chart and a table. `scripts/chart.js` shows the values under the pointer. */
export function lineChart(chart: LineChart): Html {
  const { lines, title } = chart
  const axis = createAxis(lines.flatMap(({ clicks }) => clicks))
  const clicksOf = (bucket: number) => lines.map(({ clicks }) => clicks[bucket] as number)
  const keys = lines.map(({ label }, index) => html`<span>${lineSample(index)} ${label}</span>`)
  return renderChart({
    time: chart,
    title,
    summary: summaryOf(chart),
    axis,
    lines: lines.map((each, index) => path(each, index, chart, axis)),
    marks: lines.map((each, index) => marks(each, index, chart, axis)),
    legend: html`<p class="chart-key" aria-hidden="true">${keys}</p>`,
    reading: (bucket) => readingOf(chart, bucket),
    clicksOf,
    table: { columns: lines.map(({ label }) => label), figuresOf: clicksOf },
  })
}

function path({ clicks }: Line, index: number, { buckets, started }: LineChart, { y }: Axis): Html {
  const d = line<number>((_, bucket) => xPosition(bucket, buckets.length), y)(clicks.slice(0, started))
  return html`<path class="chart-line line-${index + 1}" d="${d}"/>`
}

/** Renders markers at the labels of the axis and at the end of the line. */
function marks({ clicks }: Line, index: number, { buckets, started, interval }: LineChart, axis: Axis): Html {
  const labeled = labelIndexes(buckets.length, interval).filter((bucket) => bucket < started)
  const shown = [...new Set([...labeled, started - 1])].filter((bucket) => bucket >= 0)
  return html`${shown.map((bucket) => {
    const [x, y] = [xPercent(bucket, buckets.length), yPixels(axis, clicks[bucket] as number)]
    return html`<svg class="line-${index + 1}" x="${x}%" y="${y}">${marker(index)}</svg>`
  })}`
}

function marker(index: number): Html {
  return html`<path class="chart-marker" d="${symbol(markers[index], 48).digits(1)()}"/>`
}

/** Renders the line and the marker of a link, for legends and tables. */
export function lineSample(index: number): Html {
  return html`<svg class="line-sample line-${index + 1}" width="32" height="12" aria-hidden="true"><path class="chart-line line-${index + 1}" d="M0,6H32"/><svg x="16" y="6">${marker(index)}</svg></svg>`
}

function readingOf(chart: LineChart, bucket: number): string {
  const figures = chart.lines.map(({ label, clicks }) => `${label}: ${formatCount(clicks[bucket] as number)}`)
  return [bucketTitle(chart, bucket), ...figures].join('\n')
}

function summaryOf(chart: LineChart): string {
  const { title, started, lines } = chart
  if (started === 0) return `${title}: the period hasn’t started yet.`
  const totals = lines.map(({ label, clicks }) => `${label}: ${quantity(sum(clicks), 'click')}`)
  return `${title}, ${startedRange(chart)}. ${totals.join(', ')}.`
}
