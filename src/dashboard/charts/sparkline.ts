import { scaleLinear } from 'd3-scale'
import { line } from 'd3-shape'
import { type Html, html } from '../../http/html.ts'

const [width, height, edge] = [60, 20, 2]

/** A line of a few numbers, none negative, as small as a word. It is hidden from screen readers: a figure stands beside it. */
export function sparkline(numbers: readonly number[]): Html {
  const shown = numbers.length > 1 ? numbers : [numbers[0] ?? 0, numbers[0] ?? 0]
  const x = scaleLinear([0, shown.length - 1], [edge, width - edge])
  const y = scaleLinear([0, Math.max(1, ...shown)], [height - edge, edge])
  const path = line<number>((_, at) => x(at), y).digits(1)(shown)
  return html`<svg class="sparkline" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" aria-hidden="true"><path d="${path}"/></svg>`
}
