/** The frame of a chart over time: grid, axes and columns. Only lines stretch to the available width. */
import { scaleLinear } from 'd3-scale'
import { type Html, html } from '../../http/html.ts'
import { attributes } from '../parts/buttons.ts'
import { formatShortCount } from '../parts/format.ts'
import { axisLabel, labelIndexes, type TimeAxis } from './time-axis.ts'

/** The size of the plot: its width in units that stretch to the available width, its height in pixels. */
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

interface Plot {
  readonly time: TimeAxis
  readonly axis: Axis
  /** Describes the chart. */
  readonly summary: string
  /** Stretches to the available width. */
  readonly lines: Html
  /** Marks on the lines, which don't stretch. */
  readonly marks: readonly Html[] | null
  /** Describes a bucket. */
  readonly reading: (place: number) => string
  /** Returns the clicks of a bucket in each line. */
  readonly clicksOf: (place: number) => readonly number[]
}

/** Renders the axes and the lines. `scripts/chart.js` shows the values under the pointer in an `output`. */
export function plotDrawing(plot: Plot): Html {
  return html`<div class="chart-drawing">${valueAxis(plot.axis)}${drawing(plot)}<output class="chart-reading"></output></div>`
}

function valueAxis({ ticks, y }: Axis): Html {
  const labels = ticks.map((tick) => ({ text: formatShortCount(tick), y: rounded(top + y(tick)) }))
  const width = Math.max(...labels.map(({ text }) => text.length)) * 0.65 + 0.5
  return html`<svg class="chart-axis" width="${rounded(width)}em" height="${height}" aria-hidden="true">${labels.map(
    (label) => html`<text x="100%" dx="-0.5em" y="${label.y}" dy="0.35em" text-anchor="end">${label.text}</text>`,
  )}</svg>`
}

function drawing(plot: Plot): Html {
  const { axis, summary, lines, marks, time, clicksOf } = plot
  const grid = axis.ticks.map((tick) => rounded(top + axis.y(tick)))
  const stretched = html`y="${top}" width="100%" height="${plotHeight}" viewBox="0 0 ${plotWidth} ${plotHeight}" preserveAspectRatio="none"`
  const pointed = (time.started > 0 ? clicksOf(0) : [0]).map(
    () => html`<circle class="chart-dot chart-pointed" r="4" visibility="hidden"/>`,
  )
  return html`<svg class="chart-plot" width="100%" height="${height}" role="img" aria-label="${summary}">
<g class="chart-grid">${grid.map((y) => html`<line x1="0" x2="100%" y1="${y}" y2="${y}"/>`)}</g>
<svg ${stretched}>${lines}</svg>
${marks}
<g class="chart-times">${timeLabels(time)}</g>
<line class="chart-cursor" y1="${top}" y2="${top + plotHeight}" visibility="hidden"/>
${pointed}
<svg ${stretched}>${columns(plot)}</svg>
</svg>`
}

function timeLabels(time: TimeAxis): Html[] {
  const { length } = time.buckets
  return labelIndexes(length, time.interval).map((place) => {
    const x = xPercent(place, length)
    const anchor = x < 5 ? 'start' : x > 95 ? 'end' : 'middle'
    return html`<text x="${x}%" y="${height - 6}" text-anchor="${anchor}">${axisLabel(time, place)}</text>`
  })
}

/**
 * Renders a column for each started bucket. It receives the pointer, and its title shows its values without scripts. The
 * table has its link.
 */
function columns({ time, axis, reading, clicksOf }: Plot): Html[] {
  const { buckets, started } = time
  const width = rounded(plotWidth / Math.max(1, buckets.length - 1))
  const href = (place: number) => attributes({ 'data-href': time.hrefOf?.(place) ?? null })
  return Array.from({ length: started }, (_, place) => {
    const left = Math.max(0, xPosition(place, buckets.length) - width / 2)
    const right = Math.min(plotWidth, xPosition(place, buckets.length) + width / 2)
    const ys = clicksOf(place).map((clicks) => yPixels(axis, clicks))
    return html`<rect class="chart-column" x="${rounded(left)}" width="${rounded(right - left)}" height="${plotHeight}" data-x="${xPercent(place, buckets.length)}%" data-y="${ys.join(' ')}"${href(place)}><title>${reading(place)}</title></rect>`
  })
}

/** Returns the position in the plot. */
export function xPosition(place: number, count: number): number {
  return rounded(count > 1 ? (place / (count - 1)) * plotWidth : plotWidth / 2)
}

/** Returns the position in percent of the available width. */
export function xPercent(place: number, count: number): number {
  return rounded((xPosition(place, count) / plotWidth) * 100)
}

/** Returns the distance from the top of the drawing in pixels. */
export function yPixels({ y }: Axis, clicks: number): number {
  return rounded(top + y(clicks))
}

function rounded(number: number): number {
  return Math.round(number * 10) / 10
}
