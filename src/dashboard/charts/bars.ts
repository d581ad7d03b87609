import { type Html, html, type Part } from '../../http/html.ts'
import { count, percent } from '../parts/number.ts'

export interface Bar {
  readonly label: Part
  readonly clicks: number
}

export interface BarChart {
  readonly title: string
  /** In the order in which they are shown. */
  readonly rows: readonly Bar[]
  /** The clicks of all values, those that are not shown included. */
  readonly total: number
}

/** A breakdown: each value with its name, its figure and its share, in text and as a bar. */
export function barChart({ title, rows, total }: BarChart): Html {
  const list = html`<ol>${rows.map((row) => barOf(row, total))}</ol>`
  const none = html`<p class="muted">No clicks in this period.</p>`
  return html`<figure class="bars"><figcaption>${title}</figcaption>${rows.length > 0 ? list : none}</figure>`
}

function barOf({ label, clicks }: Bar, total: number): Html {
  const share = total > 0 ? Math.min(1, clicks / total) : 0
  return html`<li>
<span class="bar-label">${label}</span>
<span class="bar-clicks">${count(clicks)}<span class="hidden-text"> ${clicks === 1 ? 'click' : 'clicks'}, </span></span>
<span class="bar-share">${percent(share)}</span>
<svg class="bar" width="100%" height="6" aria-hidden="true"><rect width="${Math.round(share * 1_000) / 10}%" height="6" rx="3"/></svg>
</li>`
}
