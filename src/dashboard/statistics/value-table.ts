/** Tables of values and links with their clicks and shares, on pages and in files. */
import type { ValueClicks } from '../../analytics/statistics/ranking.ts'
import type { Subject } from '../../analytics/statistics/store.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { findLinkNames } from '../../links/link-list.ts'
import { periodQuery } from '../charts/period.ts'
import { bar } from '../charts/small-charts.ts'
import { formatCount, formatPercent } from '../parts/format.ts'
import { longTable, type Sorting } from '../parts/table.ts'
import { linkIds, linkLabel } from './breakdowns.ts'
import { type CsvRow, shareText } from './csv.ts'
import type { NamedSubject, Statistics } from './statistics.ts'

interface ValueTable {
  readonly caption: string
  /** The label of the first column. */
  readonly lead: string
  readonly rows: readonly { readonly label: Part; readonly clicks: number }[]
  /** The clicks of the longest bar. */
  readonly most: number
  /** The clicks of all values. */
  readonly total: number
  readonly sorting?: Sorting
  readonly sortsByValue?: boolean
}

/** Renders values with a tinted bar behind each row. */
export function valueTable({ caption, lead, rows, most, total, sorting, sortsByValue = false }: ValueTable) {
  return longTable({
    caption,
    columns: [
      {
        label: lead,
        kind: 'lead',
        ...(sortsByValue && { sortBy: 'value' }),
        cell: ({ label, clicks }: ValueTable['rows'][number]) =>
          html`${bar(clicks, most)}<span class="bar-label">${label}</span>`,
      },
      { label: 'Clicks', kind: 'number', sortBy: 'clicks', cell: ({ clicks }) => formatCount(clicks) },
      { label: 'Share', kind: 'number', width: 'small', cell: ({ clicks }) => formatPercent(clicks / total) },
    ],
    rows,
    ...(sorting && { sorting }),
  })
}

/** Returns links as rows of a table. */
export async function rowsOfLinks({ scope, shortUrl }: Statistics, values: readonly ValueClicks[]) {
  const [db, account] = scope
  const links = await findLinkNames(db, account, linkIds(values))
  return values.map(({ value, clicks }) => {
    const label = typeof value === 'number' ? linkLabel(links.get(value), shortUrl) : 'Others'
    return { label, clicks }
  })
}

/** Returns the rows of a file with links, and the clicks of all others. */
export async function fileOfLinks(
  { scope, shortUrl }: Statistics,
  values: readonly ValueClicks[],
  others: number,
): Promise<CsvRow[]> {
  const [db, account] = scope
  const links = await findLinkNames(db, account, linkIds(values))
  const total = values.reduce((sum, { clicks }) => sum + clicks, others)
  const rows: CsvRow[] = values.map(({ value, clicks }) => {
    const link = links.get(value as number)
    const text = link === undefined ? 'Deleted link' : shortUrl(link.domain, link.alias)
    return [text, link?.title ?? null, clicks, shareText(clicks, total)]
  })
  const rest: CsvRow[] = others > 0 ? [['Others', null, others, shareText(others, total)]] : []
  return [['Link', 'Title', 'Clicks', 'Share'], ...rows, ...rest]
}

const prepositions: Readonly<Partial<Record<Subject['scope'], string>>> = { space: 'in', tag: 'on links with the tag' }

/** Renders "Clicks on go.acme.com", followed by `detail`. The subject is a link to its page in the same period. */
export function introduction({ subject, name, path }: NamedSubject, { reading }: Statistics, detail: Part): Html {
  const where = name === null ? 'all links' : html`<bdi>${name}</bdi>`
  const link = html`<a href="${path}?${periodQuery(reading.period)}">${where}</a>`
  return html`<p class="muted">Clicks ${prepositions[subject.scope] ?? 'on'} ${link}${detail}.</p>`
}
