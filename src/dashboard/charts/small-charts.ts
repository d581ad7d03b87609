import { scaleLinear } from 'd3-scale'
import { line } from 'd3-shape'
import { type Html, html, type Part } from '../../http/html.ts'
import { formatCount, formatPercent } from '../parts/format.ts'

interface BarChart {
  readonly title: string
  readonly rows: readonly { readonly label: Part; readonly clicks: number }[]
  /** The clicks of all values, including values that are not shown. */
  readonly total: number
}

export function barChart({ title, rows, total }: BarChart): Html {
  const list = html`<ol>${rows.map(({ label, clicks }) => bar(label, clicks, total))}</ol>`
  const none = html`<p class="muted">No clicks in this period.</p>`
  return html`<figure class="bars"><figcaption>${title}</figcaption>${rows.length > 0 ? list : none}</figure>`
}

function bar(label: Part, clicks: number, total: number): Html {
  const share = total > 0 ? Math.min(1, clicks / total) : 0
  return html`<li>
<span class="bar-label">${label}</span>
<span class="bar-clicks">${formatCount(clicks)}<span class="hidden-text"> ${clicks === 1 ? 'click' : 'clicks'}, </span></span>
<span class="bar-share">${formatPercent(share)}</span>
<svg class="bar" width="100%" height="6" aria-hidden="true"><rect width="${Math.round(share * 1_000) / 10}%" height="6" rx="3"/></svg>
</li>`
}

const regions = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
const languages = new Intl.DisplayNames('en', { type: 'language', fallback: 'none' })

const devices = new Map(Object.entries({ desktop: 'Desktop', mobile: 'Mobile', tablet: 'Tablet', tv: 'TV' }))

export function valueLabel(name: string, value: string | number | null): Part {
  if (value === null) return name === 'referrers' ? 'Direct or unknown' : 'Unknown'
  if (typeof value === 'number') return `#${value}`
  if (value === 'other') return 'Other'
  if (name === 'languages') return nameIn(languages, value)
  if (name !== 'countries') return html`<bdi>${(name === 'devices' && devices.get(value)) || value}</bdi>`
  const flag = countryFlag(value)
  return html`${flag && html`<span class="flag" aria-hidden="true">${flag}</span> `}${nameIn(regions, value)}`
}

/** Returns the flag of a two-letter country code; null for other text. */
function countryFlag(code: string): string | null {
  if (!/^[A-Z]{2}$/.test(code)) return null
  const regionalA = 0x1f1e6
  return String.fromCodePoint(...[...code].map((letter) => regionalA + letter.charCodeAt(0) - 'A'.charCodeAt(0)))
}

/** `Germany` for `DE`, `German` for `de`; other text unchanged. */
function nameIn(names: Intl.DisplayNames, code: string): string {
  try {
    return names.of(code) ?? code
  } catch {
    // `of` throws if the code is malformed.
    return code
  }
}

const [width, height, edge] = [60, 20, 2]

/** Renders non-negative numbers as a line. Screen readers skip it, because a figure accompanies it. */
export function sparkline(numbers: readonly number[]): Html {
  const shown = numbers.length > 1 ? numbers : [numbers[0] ?? 0, numbers[0] ?? 0]
  const x = scaleLinear([0, shown.length - 1], [edge, width - edge])
  const y = scaleLinear([0, Math.max(1, ...shown)], [height - edge, edge])
  const path = line<number>((_, at) => x(at), y).digits(1)(shown)
  return html`<svg class="sparkline" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" aria-hidden="true"><path d="${path}"/></svg>`
}
