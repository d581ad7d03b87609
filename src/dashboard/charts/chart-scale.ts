/** Where the figures of a chart stand. Pure. */
import { scaleLinear } from 'd3-scale'

/** The drawing is this wide in its own units, and is stretched to its place; its height is in pixels. */
export const plotWidth = 1_000
export const plotHeight = 200

export interface Axis {
  /** The labelled figures, ascending from 0; at most four. */
  readonly ticks: readonly number[]
  /** From the top, in pixels. */
  y(clicks: number): number
}

/** An axis from 0 to at least the greatest of the figures, in round steps of whole clicks. */
export function axisOf(figures: readonly number[]): Axis {
  const most = figures.reduce((max, figure) => Math.max(max, figure), 1)
  let scale = scaleLinear([0, most], [plotHeight, 0]).nice(3)
  let ticks = scale.ticks(3)
  for (let count = 2; count > 0 && (ticks.length > 4 || !ticks.every(Number.isInteger)); count--) {
    scale = scaleLinear([0, most], [plotHeight, 0]).nice(count)
    ticks = scale.ticks(count)
  }
  return { ticks, y: (clicks) => rounded(scale(clicks)) }
}

/** The middle of a bucket among `count` of them, from the left, in the units of the drawing. */
export function xOf(place: number, count: number): number {
  return rounded(count > 1 ? (place / (count - 1)) * plotWidth : plotWidth / 2)
}

export function rounded(number: number): number {
  return Math.round(number * 10) / 10
}
