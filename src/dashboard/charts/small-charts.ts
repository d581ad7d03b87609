import { type Html, html, type Part } from '../../http/html.ts'
import { formatCount } from '../../lib/format.ts'
import { formatPercent } from '../parts/format.ts'

export interface BarRow {
  readonly label: Part
  readonly clicks: number
}

interface BarChart {
  readonly title: string
  /** The most clicked first. */
  readonly rows: readonly BarRow[]
  /** The clicks of all values that have no row. */
  readonly others: number
  /** "Others" by default. */
  readonly othersLabel?: string
  /** The URL of the page with all values. */
  readonly allHref: string | null
}

/** Renders values as rows with a tinted bar, whose length is in proportion to the first row. */
export function barChart({ title, rows, others, othersLabel = 'Others', allHref }: BarChart): Html {
  const total = rows.reduce((sum, { clicks }) => sum + clicks, others)
  if (total === 0) {
    return html`<figure class="bars"><figcaption>${title}</figcaption><p class="muted">No clicks in this period.</p></figure>`
  }
  const most = rows[0]?.clicks ?? 0
  const rest = others > 0 ? html`<li class="others">${barRow(othersLabel, others, total)}</li>` : null
  const all =
    allHref && html`<p><a href="${allHref}">Show all<span class="hidden-text">: ${title.toLowerCase()}</span></a></p>`
  return html`<figure class="bars"><figcaption>${title}</figcaption>
<ol>${rows.map(({ label, clicks }) => html`<li>${bar(clicks, most)}${barRow(label, clicks, total)}</li>`)}${rest}</ol>${all}</figure>`
}

/** Renders the bar behind a row, as wide as its share of the most clicks. */
export function bar(clicks: number, most: number): Html {
  const share = most > 0 ? Math.min(1, clicks / most) : 0
  return html`<svg class="bar" aria-hidden="true"><rect width="${Math.round(share * 1_000) / 10}%" height="100%" rx="4"/></svg>`
}

function barRow(label: Part, clicks: number, total: number): Html {
  return html`<span class="bar-label">${label}</span>
<span class="bar-clicks">${formatCount(clicks)}<span class="hidden-text"> ${clicks === 1 ? 'click' : 'clicks'}, </span></span>
<span class="bar-share">${formatPercent(clicks / total)}</span>`
}

const [width, height, edge] = [60, 20, 2]

/** Renders non-negative numbers as a line. Screen readers skip it, because a figure accompanies it. */
export function sparkline(numbers: readonly number[]): Html {
  const shown = numbers.length > 1 ? numbers : [numbers[0] ?? 0, numbers[0] ?? 0]
  const most = Math.max(1, ...shown)
  const points = shown.map((number, at) => {
    const x = edge + (at / (shown.length - 1)) * (width - 2 * edge)
    const y = height - edge - (number / most) * (height - 2 * edge)
    return `${Math.round(x * 10) / 10},${Math.round(y * 10) / 10}`
  })
  return html`<svg class="sparkline" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" aria-hidden="true"><path d="M${points.join('L')}"/></svg>`
}
