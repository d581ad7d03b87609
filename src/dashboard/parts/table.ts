import { type Html, html, type Part } from '../../http/html.ts'
import { attributes } from './attributes.ts'
import { icon } from './icons.ts'

export interface Column<Row> {
  /** Stands in the head of the table, and before the value where each row is a block. */
  readonly label: string
  readonly cell: (row: Row) => Part
  /** `lead`: names the row; its first link is the row's. `menu` and `select` have no words in the head. */
  readonly kind?: 'lead' | 'text' | 'number' | 'menu' | 'select'
  /** What the list is sorted by when the head is followed; without it, the column does not sort. */
  readonly sortBy?: string
  /** Whether the block of a row shows no label before the value. */
  readonly isPlain?: boolean
}

export interface Sorting {
  readonly by: string
  readonly isDescending: boolean
  /** The address of the list in another order. */
  readonly href: (by: string, isDescending: boolean) => string
}

export interface Table<Row> {
  /** Said to those who do not see the page. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly sorting?: Sorting
}

/** A table. Heads that sort are links; where there is no room for columns, each row is a block. */
export function table<Row>({ caption, columns, rows, sorting }: Table<Row>): Html {
  const heads = columns.map((column) => head(column, sorting))
  const lines = rows.map((row) => html`\n<tr role="row">${columns.map((column) => cell(column, row))}</tr>`)
  // With roles, since browsers forget what a table is when it is laid out in blocks.
  return html`<div class="table blocks"><table role="table"><caption class="hidden-text">${caption}</caption>
<thead role="rowgroup"><tr role="row">${heads}</tr></thead>
<tbody role="rowgroup">${lines}</tbody></table></div>`
}

function head<Row>({ label, kind = 'text', sortBy }: Column<Row>, sorting: Sorting | undefined): Html {
  const isSorted = sorting !== undefined && sortBy === sorting.by
  const order = sorting?.isDescending ? 'descending' : 'ascending'
  const all = attributes({
    scope: 'col',
    role: 'columnheader',
    class: classesOf(kind),
    'aria-sort': isSorted ? order : null,
  })
  if (kind === 'menu' || kind === 'select') return html`<th${all}><span class="hidden-text">${label}</span></th>`
  if (sorting === undefined || sortBy === undefined) return html`<th${all}>${label}</th>`
  // What is counted is first asked for from the top.
  const isDescendingNext = isSorted ? !sorting.isDescending : kind === 'number'
  const arrow = isSorted ? icon(sorting.isDescending ? 'down' : 'up') : null
  return html`<th${all}><a href="${sorting.href(sortBy, isDescendingNext)}">${label}${arrow}</a></th>`
}

function cell<Row>({ label, kind = 'text', isPlain = false, cell: show }: Column<Row>, row: Row): Html {
  const shown = html`${show(row)}`
  const hasLabel = (kind === 'text' || kind === 'number') && !isPlain && shown.text !== ''
  const all = { class: classesOf(kind), 'data-label': hasLabel ? label : null }
  if (kind === 'lead') return html`<th${attributes({ scope: 'row', role: 'rowheader', ...all })}>${shown}</th>`
  return html`<td${attributes({ role: 'cell', ...all })}>${shown}</td>`
}

function classesOf(kind: NonNullable<Column<unknown>['kind']>): string | null {
  if (kind === 'text') return null
  return kind === 'number' ? 'number' : kind === 'lead' ? 'lead-cell' : `${kind}-cell tight`
}
