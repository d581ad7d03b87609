import { setImmediate as immediate } from 'node:timers/promises'
import { icon } from '../../frame/icons.ts'
import { type Html, html, type Part } from '../../http/html.ts'
import { attributes, menuItems } from './buttons.ts'

export interface Column<Row> {
  /** The column header, and the label of the value where rows are blocks. */
  readonly label: string
  readonly cell: (row: Row) => Part
  /** A `lead` cell names the row. `menu` and `select` columns have no visible header. */
  readonly kind?: 'lead' | 'text' | 'number' | 'menu' | 'select'
  readonly sortBy?: string
  /** Whether the value has no label where rows are blocks. */
  readonly isPlain?: boolean
  /** `rest` shares the remaining width. A lead column has `rest`, other columns the width of their kind. */
  readonly width?: 'small' | 'medium' | 'large' | 'rest' | undefined
  /**
   * The order in which columns are hidden in narrow tables. 0 is always hidden, but in the menu that sorts the list. Only
   * plain columns return where rows are blocks.
   */
  readonly leaves?: 0 | 1 | 2 | 3 | 4 | undefined
  /** Whether the lead before it gets the width of an empty cell. */
  readonly isYielding?: boolean
}

export interface Sorting {
  readonly by: string
  readonly isDescending: boolean
  readonly href: (by: string, isDescending: boolean) => string
}

interface Table<Row> {
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly sorting?: Sorting
  /** Whether columns are as wide as their content, with the remaining width for the lead. By default, widths are fixed. */
  readonly isFitted?: boolean
}

/** Renders a table. On narrow screens, each row becomes a block and a menu sorts the list. */
export function table<Row>(given: Table<Row>): Html {
  const rows = given.rows.map((row) => tableRow(given, row))
  return tableOf(given, rows)
}

/** The number of rows rendered in one event-loop tick, which take about a millisecond. */
const rowsPerTick = 10

let lastTick: Promise<unknown> = Promise.resolve()

/** Renders a long table over several event-loop ticks, so that other requests need not wait. */
export async function longTable<Row>(given: Table<Row>): Promise<Html> {
  const rows: Html[] = []
  for (const [at, row] of given.rows.entries()) {
    if (at % rowsPerTick === 0) {
      // Waits for a tick in which no other long table is rendered.
      lastTick = lastTick.then(() => immediate())
      await lastTick
    }
    rows.push(tableRow(given, row))
  }
  return tableOf(given, rows)
}

function tableOf<Row>({ caption, columns, sorting, isFitted = false }: Table<Row>, rows: readonly Html[]): Html {
  const heads = columns.map((column) => head(column, sorting))
  // The roles are explicit, because browsers drop table semantics if CSS changes the layout.
  const hasLead = columns.some(({ kind }) => kind === 'lead')
  const layout = hasLead ? attributes({ class: isFitted ? 'fitted' : 'fixed' }) : null
  return html`<div class="table blocks">${sorting === undefined ? null : sortMenu(columns, sorting)}<table role="table"${layout}><caption class="hidden-text">${caption}</caption>
<thead role="rowgroup"><tr role="row">${heads}</tr></thead>
<tbody role="rowgroup">${rows}</tbody></table></div>`
}

function tableRow<Row>({ columns }: Table<Row>, row: Row): Html {
  const cells: { column: Column<Row>; shown: Part; span: number }[] = []
  for (const column of columns) {
    const [shown, before] = [column.cell(row), cells.at(-1)]
    if (column.isYielding && shown === null && before !== undefined) before.span += 1
    else cells.push({ column, shown, span: 1 })
  }
  return html`\n<tr role="row">${cells.map(({ column, shown, span }) => tableCell(column, shown, span))}</tr>`
}

function tableCell<Row>(column: Column<Row>, shown: Part, span: number): Html {
  const { label, kind = 'text', isPlain = false } = column
  const hasLabel = (kind === 'text' || kind === 'number') && !isPlain && shown !== null && shown !== ''
  const roles = kind === 'lead' ? { scope: 'row', role: 'rowheader' } : { role: 'cell' }
  const colspan = span > 1 ? span : null
  const all = attributes({ ...roles, colspan, class: classesOf(column), 'data-label': hasLabel ? label : null })
  return kind === 'lead' ? html`<th${all}>${shown}</th>` : html`<td${all}>${shown}</td>`
}

/** Labels of both orders and whether they descend, the default order first. */
const nameOrders = { 'A to Z': false, 'Z to A': true }
const numberOrders = { 'most first': true, 'fewest first': false }
const timeOrders = { 'newest first': true, 'oldest first': false }

/** Renders a menu of all orders, for narrow screens without sortable column headers. */
function sortMenu<Row>(columns: readonly Column<Row>[], { by, isDescending, href }: Sorting): Html {
  const sorted = columns.filter(({ sortBy }) => sortBy !== undefined)
  const items = sorted.flatMap(({ label, kind, sortBy = '' }) => {
    const orders = kind === 'lead' ? nameOrders : kind === 'number' ? numberOrders : timeOrders
    return Object.entries(orders).map(([words, isDown]) => {
      const isCurrent = sortBy === by && isDown === isDescending
      return { label: `${label}, ${words}`, href: href(sortBy, isDown), isCurrent }
    })
  })
  const current = items.find(({ isCurrent }) => isCurrent)?.label ?? 'another order'
  const hidden = sorted.flatMap(({ leaves }) => leaves ?? [])
  const className = hidden.length > 0 ? `sort sort-${Math.min(...hidden)}` : 'sort'
  return html`<div class="${className}"><button type="button" class="button plain" popovertarget="sort-by"><span class="muted">Sort by</span><span>${current}</span>${icon('chevron')}</button>
${menuItems('sort-by', items)}</div>`
}

function head<Row>(column: Column<Row>, sorting: Sorting | undefined): Html {
  const { label, kind = 'text', sortBy } = column
  const isSorted = sorting !== undefined && sortBy === sorting.by
  const order = isSorted ? (sorting.isDescending ? 'descending' : 'ascending') : null
  const all = attributes({ scope: 'col', role: 'columnheader', class: classesOf(column), 'aria-sort': order })
  if (kind === 'menu' || kind === 'select') return html`<th${all}><span class="hidden-text">${label}</span></th>`
  if (sorting === undefined || sortBy === undefined) return html`<th${all}>${label}</th>`
  // Numbers are sorted from the highest first, times from the newest.
  const isDescendingNext = isSorted ? !sorting.isDescending : kind !== 'lead'
  const arrow = isSorted ? icon(sorting.isDescending ? 'down' : 'up') : null
  return html`<th${all}><a href="${sorting.href(sortBy, isDescendingNext)}">${label}${arrow}</a><span class="in-block">${label}</span></th>`
}

const classes = { lead: 'lead-cell', text: null, number: 'number', menu: 'menu-cell', select: 'select-cell' } as const

function classesOf<Row>({ kind = 'text', width, leaves }: Column<Row>): string | null {
  const all = [classes[kind], width && `width-${width}`, leaves !== undefined && `leaves-${leaves}`]
  return all.filter(Boolean).join(' ') || null
}

/** Row controls refer to the form by id, because menus inside a row have their own forms, and forms can't be nested. */
const formId = 'selection'
const actionsId = 'selection-actions'

/** Renders the checkbox of a row. `what` names the row. A checked row 12 sends `row-12`. */
export function selectRow(id: number, what: string): Html {
  return html`<label><input type="checkbox" form="${formId}" name="row-${id}"><span class="hidden-text">Select ${what}</span></label>`
}

export function selectedRows(ids: readonly number[]): Readonly<Record<string, string>> {
  return Object.fromEntries(ids.map((id) => [`row-${id}`, 'on']))
}

/**
 * Renders a list with selectable rows, one on a page. Actions appear over the table's header with the first selected
 * row. Before that, there is only the box for all rows of the page, which needs scripts. `more` selects others.
 */
export function selectable(action: string, list: Part, actions: Part, more: Html | null = null): Html {
  return html`<div class="selectable" data-select>
<form method="post" action="${action}" class="selection" id="${formId}"><label class="needs-script on-page"><input type="checkbox" data-select-all><span>All on this page</span></label>
<span class="number-of" data-number-of>Selected</span>${more}
<button type="button" class="button plain" popovertarget="${actionsId}">Actions</button>
<div class="actions" id="${actionsId}" popover>${actions}</div></form>
${list}</div>`
}
