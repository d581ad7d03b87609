import { setImmediate as immediate } from 'node:timers/promises'
import { type Html, html, type Part } from '../../http/html.ts'
import { attributes } from './buttons.ts'
import { icon } from './icons.ts'
import { type Sorting, type SortKey, sortMenu } from './list-controls.ts'

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
  /** The room it takes, whatever stands in it; `rest` shares what the others leave. A lead has the rest, other kinds one of their own. */
  readonly width?: 'small' | 'medium' | 'large' | 'rest'
  /** Goes where there is no room for all columns: 1 first. Only 1 comes back where each row is a block. */
  readonly leaves?: 1 | 2 | 3
}

export interface Table<Row> {
  /** Said to those who do not see the page. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly sorting?: Sorting
}

/**
 * Renders a table. Heads that sort are links; where there is no room for columns, each row is a block, and a menu sorts. With
 * a lead, the columns keep their places from page to page.
 */
export function table<Row>(given: Table<Row>): Html {
  return tableWith(
    given,
    given.rows.map((row) => lineOf(given, row)),
  )
}

/** Rows of a long table that are rendered in one tick of the event loop: about a millisecond. */
const rowsPerTick = 10

let lastTick: Promise<unknown> = Promise.resolve()

/** Waits for an event-loop tick that no other long table renders in, so that ticks stay short however many do. */
function ownTick(): Promise<unknown> {
  lastTick = lastTick.then(() => immediate())
  return lastTick
}

/** Renders a table of many rows, some in each tick of the event loop, so that other requests need not wait for all. */
export async function longTable<Row>(given: Table<Row>): Promise<Html> {
  const lines: Html[] = []
  for (const [at, row] of given.rows.entries()) {
    if (at % rowsPerTick === 0) await ownTick()
    lines.push(lineOf(given, row))
  }
  return tableWith(given, lines)
}

function lineOf<Row>({ columns }: Table<Row>, row: Row): Html {
  return html`\n<tr role="row">${columns.map((column) => cell(column, row))}</tr>`
}

function tableWith<Row>({ caption, columns, sorting }: Table<Row>, lines: readonly Html[]): Html {
  const heads = columns.map((column) => head(column, sorting))
  // With roles, since browsers forget what a table is when it is laid out in blocks.
  const layout = columns.some(({ kind }) => kind === 'lead') ? html` class="fixed"` : null
  return html`<div class="table blocks">${sorting === undefined ? null : menuOf(columns, sorting)}<table role="table"${layout}><caption class="hidden-text">${caption}</caption>
<thead role="rowgroup"><tr role="row">${heads}</tr></thead>
<tbody role="rowgroup">${lines}</tbody></table></div>`
}

/** For where not all heads that sort are shown. */
function menuOf<Row>(columns: readonly Column<Row>[], sorting: Sorting): Html {
  const sorted = columns.filter(({ sortBy }) => sortBy !== undefined)
  const keys = sorted.map(({ label, kind = 'text', sortBy = '' }): SortKey => {
    return { label, by: sortBy, of: kind === 'lead' ? 'names' : kind === 'number' ? 'numbers' : 'times' }
  })
  const className = sorted.some(({ leaves }) => leaves !== undefined) ? 'sort early' : 'sort'
  return html`<div class="${className}">${sortMenu(keys, sorting)}</div>`
}

function head<Row>(column: Column<Row>, sorting: Sorting | undefined): Html {
  const { label, kind = 'text', sortBy } = column
  const isSorted = sorting !== undefined && sortBy === sorting.by
  const order = sorting?.isDescending ? 'descending' : 'ascending'
  const all = attributes({
    scope: 'col',
    role: 'columnheader',
    class: classesOf(column),
    'aria-sort': isSorted ? order : null,
  })
  if (kind === 'menu' || kind === 'select') return html`<th${all}><span class="hidden-text">${label}</span></th>`
  if (sorting === undefined || sortBy === undefined) return html`<th${all}>${label}</th>`
  // What is counted is first asked for from the top.
  const isDescendingNext = isSorted ? !sorting.isDescending : kind === 'number'
  const arrow = isSorted ? icon(sorting.isDescending ? 'down' : 'up') : null
  return html`<th${all}><a href="${sorting.href(sortBy, isDescendingNext)}">${label}${arrow}</a><span class="in-block">${label}</span></th>`
}

function cell<Row>(column: Column<Row>, row: Row): Html {
  const { label, kind = 'text', isPlain = false } = column
  const shown = html`${column.cell(row)}`
  const hasLabel = (kind === 'text' || kind === 'number') && !isPlain && shown.text !== ''
  const all = { class: classesOf(column), 'data-label': hasLabel ? label : null }
  if (kind === 'lead') return html`<th${attributes({ scope: 'row', role: 'rowheader', ...all })}>${shown}</th>`
  return html`<td${attributes({ role: 'cell', ...all })}>${shown}</td>`
}

const classes = { lead: 'lead-cell', text: null, number: 'number', menu: 'menu-cell', select: 'select-cell' } as const

function classesOf<Row>({ kind = 'text', width, leaves }: Column<Row>): string | null {
  const all = [classes[kind], width && `width-${width}`, leaves && `leaves-${leaves}`]
  return all.filter(Boolean).join(' ') || null
}

/** Rows name the form, since forms of their own, as in menus, may not stand inside it. */
const formId = 'selection'
const actionsId = 'selection-actions'

/** The checkbox of a row; `what` names the row. The form sends `row-12` for the row 12, if it is checked. */
export function selectRow(id: number, what: string): Html {
  return html`<label><input type="checkbox" form="${formId}" name="row-${id}"><span class="hidden-text">Select ${what}</span></label>`
}

/** What a form sends for these rows when they are selected. */
export function selectedRows(ids: readonly number[]): Readonly<Record<string, string>> {
  return Object.fromEntries(ids.map((id) => [`row-${id}`, 'on']))
}

/** A list whose rows can be selected, one on a page. The bar with what can be done with them appears with the first; on a phone, a menu has it. */
export function selectable(action: string, list: Part, actions: Part): Html {
  return html`<div class="results" data-select>${list}
<form method="post" action="${action}" class="selection" id="${formId}"><span class="number-of" data-number-of>Selected</span>
<label class="needs-script"><input type="checkbox" data-select-all> All on this page</label>
<button type="button" class="button plain" popovertarget="${actionsId}">Actions</button>
<div class="actions" id="${actionsId}" popover>${actions}</div></form></div>`
}
