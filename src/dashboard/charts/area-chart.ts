import { area, line } from 'd3-shape'
import type { Counts } from '../../analytics/day.ts'
import type { Bucket } from '../../analytics/statistics/series.ts'
import { type Html, html } from '../../http/html.ts'
import { capitalize, formatCount, quantity } from '../../lib/format.ts'
import {
  type Axis,
  type BucketTable,
  bucketName,
  bucketTitle,
  createAxis,
  plotHeight,
  renderChart,
  startedRange,
  sum,
  type TimeAxis,
  xPercent,
  xPosition,
  yPixels,
} from './plot.ts'

interface ClicksChart extends TimeAxis {
  readonly buckets: readonly Bucket[]
  readonly before: Earlier | null
  readonly title: string
}

/** The clicks of an earlier period. */
export interface Earlier {
  /** What the clicks are compared with: "previous period". */
  readonly phrase: string
  /** Up to the same hour if the current period is running. */
  readonly totals: Counts
  /** For each bucket of the current period; null if the earlier period has no such day or hour. */
  readonly clicks: readonly (number | null)[]
}

/** Renders clicks over time as a chart and a table. */
export function areaChart(chart: ClicksChart): Html {
  const { buckets, before, title } = chart
  const axis = createAxis([...buckets.map(({ clicks }) => clicks), ...(before?.clicks ?? []).map(Number)])
  return renderChart({
    time: chart,
    title,
    summary: summaryOf(chart),
    axis,
    lines: lines(chart, axis),
    marks: onlyDot(chart, axis),
    legend: legend(chart),
    reading: readingOf(chart),
    clicksOf: (index) => [(buckets[index] as Bucket).clicks],
    table: clicksTable(chart),
  })
}

function legend({ before, started, currentHour }: ClicksChart): Html | null {
  const lines = [
    ['chart-line', 'This period', before || currentHour !== null],
    ['chart-line chart-running', 'So far', currentHour !== null && started > 1],
    ['chart-before', capitalize(before?.phrase ?? ''), before],
  ] as const
  const shown = lines.filter(([, , isShown]) => isShown)
  if (shown.length === 0) return null
  const keys = shown.map(
    ([name, text]) => html`<span><svg width="20" height="8"><path class="${name}" d="M0,4H20"/></svg> ${text}</span>`,
  )
  return html`<p class="chart-key" aria-hidden="true">${keys}</p>`
}

/** The line ends at the current time; the running bucket is dashed. */
function lines({ buckets, started, currentHour, before }: ClicksChart, { y }: Axis): Html {
  const clicks = buckets.slice(0, started).map((bucket) => bucket.clicks)
  const over = currentHour === null ? started : started - 1
  const from = (first: number) => (_: unknown, index: number) => xPosition(first + index, buckets.length)
  const path = (className: string, first: number, figures: readonly (number | null)[]) => {
    const pathOf = line<number | null>(from(first), (figure) => y(figure ?? 0)).defined((figure) => figure !== null)
    return html`<path class="${className}" d="${pathOf(figures)}"/>`
  }
  const running = currentHour !== null && started > 1 && path('chart-line chart-running', over - 1, clicks.slice(-2))
  return html`<path class="chart-area" d="${area<number>(from(0), plotHeight, y)(clicks)}"/>${
    before ? path('chart-before', 0, before.clicks.slice(0, buckets.length)) : null
  }${path('chart-line', 0, clicks.slice(0, over))}${running || null}`
}

/** Renders a dot if only one bucket has started, because a line needs two points. */
function onlyDot({ buckets, started }: ClicksChart, axis: Axis): Html | null {
  const [only] = buckets
  if (only === undefined || started !== 1) return null
  const [x, y] = [xPercent(0, buckets.length), yPixels(axis, only.clicks)]
  return html`<circle class="chart-dot" cx="${x}%" cy="${y}" r="4"/>`
}

/** Returns a function that describes a bucket: "Wed, Nov 18, 2026: 3 clicks (previous period: 20)". */
function readingOf(chart: ClicksChart): (index: number) => string {
  const before = clicksBefore(chart)
  return (index) => {
    const earlier = before?.[index] ?? null
    const compared = earlier === null ? '' : ` (${chart.before?.phrase}: ${formatCount(earlier)})`
    return `${bucketTitle(chart, index)}: ${quantity((chart.buckets[index] as Bucket).clicks, 'click')}${compared}`
  }
}

function summaryOf(chart: ClicksChart): string {
  const { buckets, started, title } = chart
  if (started === 0) return `${title}: ${bucketName(chart, 0)} hasn’t started yet.`
  const all = buckets.slice(0, started)
  const range = startedRange(chart)
  const total = sum(all.map(({ clicks }) => clicks))
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

/** Returns all counts of each bucket, and the earlier clicks. */
export function clicksTable(chart: Pick<ClicksChart, 'buckets' | 'before' | 'started'>): BucketTable {
  const before = clicksBefore(chart)
  return {
    columns: [...Object.values(countLabels), ...(before ? [`Clicks in the ${chart.before?.phrase}`] : [])],
    figuresOf: (index) => {
      const bucket = chart.buckets[index] as Bucket
      return [...names.map((name) => bucket[name]), ...(before ? [before[index] ?? null] : [])]
    },
  }
}

/** Returns the earlier clicks for each started bucket. They add up to the total. */
function clicksBefore({ before, started }: Pick<ClicksChart, 'before' | 'started'>): (number | null)[] | null {
  if (before === null) return null
  const clicks = before.clicks.slice(0, started)
  const last = clicks.length - 1
  if (typeof clicks[last] === 'number') clicks[last] = before.totals.clicks - sum(clicks.slice(0, last))
  return clicks
}
