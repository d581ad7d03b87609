/** Lists: the URL contains the entire state, so that back, reload and sharing work. */
import { Failure } from '../errors.ts'
import type { Form } from '../forms/form.ts'
import { type ListQuery, type PageQuery, toPageRequest } from '../forms/list-query.ts'
import { positiveInteger } from '../forms/rules.ts'
import { type IconName, icon } from '../frame/icons.ts'
import { type Fields, readText } from '../http/form-encoding.ts'
import { type Html, html } from '../http/html.ts'
import { formatCount } from '../lib/format.ts'
import type { Resource } from '../resources.ts'
import type { Page, PageRequest } from '../storage/port.ts'
import { attributes, hiddenFields } from './parts/buttons.ts'
import { type Choice, optionsOf } from './parts/fields.ts'
import type { Sorting } from './parts/table.ts'

const rowsPerPage = 25
/** The page sizes that lists offer. The API has others, too. */
const offeredSizes = [25, 50, 100] as const

/** The state of a list, and the URLs of its other states. */
export class ListState<Query extends PageQuery = ListQuery> {
  readonly query: Query
  readonly request: PageRequest
  readonly path: string
  readonly #given: URLSearchParams

  /** `requestOf` returns the page to read from storage. Throws `validation_failed` for an invalid query. */
  constructor(path: string, given: Fields, form: Pick<Form<Query>, 'check'>, requestOf: (query: Query) => PageRequest) {
    const query = form.check({ per_page: String(rowsPerPage), ...given })
    if (query instanceof Failure) throw query
    this.query = query
    this.request = requestOf(query)
    this.path = path
    const filled = Object.entries(given).filter(([, value]) => String(value).trim() !== '')
    this.#given = new URLSearchParams(filled.map(([name, value]) => [name, String(value)]))
  }

  get page(): number {
    return this.query.page ?? 1
  }

  filterValue(name: string): string {
    return this.#given.get(name) ?? ''
  }

  /** Returns the URL with these values; null removes a value. The page number is reset. */
  href(changes: Readonly<Record<string, string | null>>): string {
    const wanted = new URLSearchParams(this.#given)
    wanted.delete('page')
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) wanted.delete(name)
      else wanted.set(name, value)
    }
    const text = wanted.toString()
    return text === '' ? this.path : `${this.path}?${text}`
  }

  get currentHref(): string {
    return this.#pageHref(this.page)
  }

  /** The period, the order and the page size, which stay when the filters change. */
  get preserved(): Readonly<Record<string, string>> {
    const names = ['period', 'from', 'to', 'compare', 'sort_by', 'sort', 'per_page']
    const given = names.map((name) => [name, this.filterValue(name)])
    return Object.fromEntries(given.filter(([, value]) => value !== ''))
  }

  #pageHref(page: number): string {
    return this.href({ page: page === 1 ? null : String(page) })
  }

  get sorting(): Sorting {
    const { sort_by, sort } = this.query
    const href = (by: string, isDown: boolean) => this.href({ sort_by: by, sort: isDown ? 'desc' : 'asc' })
    return { by: sort_by, isDescending: sort === 'desc', href }
  }

  pagination({ rows, total, totalIsExact }: Page<unknown>): Html {
    const { page, query } = this
    const perPage = query.per_page
    const href = (page: number) => this.#pageHref(page)
    // Each page size shows this page's first row.
    const pageWith = (size: number) => Math.floor(((page - 1) * perPage) / size) + 1
    const sizeHref = (size: number) =>
      this.href({ per_page: String(size), page: pageWith(size) === 1 ? null : String(pageWith(size)) })
    // The first page may have more rows: see `listWithExactFirst`.
    return pagination({ page, perPage, rows: Math.min(rows.length, perPage), total, totalIsExact, href, sizeHref })
  }

  emptyPageMessage(): Html {
    return html`<p data-count>This page is empty. <a href="${this.#pageHref(1)}">Go to the first page</a></p>`
  }
}

/** Returns the function that returns the page of a resource to read from storage. */
export function requestsOf(resource: Resource): (query: ListQuery) => PageRequest {
  return (query) => toPageRequest(query, resource)
}

/** Returns the requested rows of an in-memory list, and the pagination. A list of one page has no pagination. */
export function slicePage<Row>(all: readonly Row[], path: string, query: Fields) {
  const last = Math.max(1, Math.ceil(all.length / rowsPerPage))
  const page = Math.min(positiveInteger(readText(query.page)) ?? 1, last)
  const href = (to: number) => (to === 1 ? path : `${path}?page=${to}`)
  const rows = all.slice((page - 1) * rowsPerPage, page * rowsPerPage)
  const pages = { page, perPage: rowsPerPage, rows: rows.length, total: all.length, totalIsExact: true, href }
  return { rows, pages: last === 1 ? html`` : pagination(pages) }
}

interface Pagination {
  readonly page: number
  readonly perPage: number
  /** The number of rows on this page. */
  readonly rows: number
  readonly total: number
  /** Whether there are no more rows than `total`. */
  readonly totalIsExact: boolean
  readonly href: (page: number) => string
  /** Returns the URL of the list with another page size. Absent if the size is fixed. */
  readonly sizeHref?: (size: number) => string
}

/** Renders "51–75 of 214", the page sizes, and links to other pages: there is no last page if the total is inexact. */
export function pagination(list: Pagination): Html {
  const { page, perPage, rows, total, totalIsExact, href } = list
  const before = (page - 1) * perPage
  const all = totalIsExact ? formatCount(total) : `more than ${formatCount(total)}`
  const range = html`<p data-count>${formatCount(before + 1)}–${formatCount(before + rows)} of ${all}</p>`
  const isWhole = totalIsExact && total <= perPage
  const sizes = totalIsExact && total <= offeredSizes[0] ? null : pageSizes(list)
  if (isWhole) return html`<div class="pages">${range}${sizes}</div>`
  const last = totalIsExact ? Math.ceil(total / perPage) : null
  const hasNext = last === null ? rows === perPage : page < last
  const position = last === null ? `Page ${formatCount(page)}` : `Page ${formatCount(page)} of ${formatCount(last)}`
  const toFirst = step('First page', 'first', page > 1 ? href(1) : null)
  const toPrevious = step('Previous page', 'before', page > 1 ? href(page - 1) : null, 'prev')
  const toNext = step('Next page', 'chevron', hasNext ? href(page + 1) : null, 'next')
  const toLast = last === null ? null : step('Last page', 'last', page < last ? href(last) : null)
  return html`<div class="pages">${range}${sizes}<nav class="actions" aria-label="Pages">
${toFirst}${toPrevious}<span class="position">${position}</span>${toNext}${toLast}</nav></div>`
}

/** A disabled link stays in place, so that the others do not move. */
function step(label: string, name: IconName, href: string | null, rel: string | null = null): Html {
  const state = href === null ? { role: 'link', 'aria-disabled': 'true' } : { href, rel }
  return html`<a${attributes({ class: 'button', ...state, title: label })}>${icon(name)}<span class="hidden-text">${label}</span></a>`
}

function pageSizes({ perPage, sizeHref }: Pagination): Html | null {
  if (sizeHref === undefined) return null
  const sizes = offeredSizes.map((size) => {
    const current = size === perPage ? 'true' : null
    return html`<a${attributes({ href: sizeHref(size), 'aria-current': current })}><span class="hidden-text">Show </span>${size}<span class="hidden-text"> rows per page</span></a>`
  })
  return html`<p class="sizes"><span aria-hidden="true">Rows per page</span>${sizes}</p>`
}

/** A control above a list, and the label of its value, or null if it does not filter. */
export interface Filter {
  readonly control: Html
  readonly label: string | null
}

/** Returns a filter by one of the options. The first option means "any". */
export function selectFilter(
  list: Pick<ListState, 'filterValue'>,
  name: string,
  label: string,
  options: readonly Choice[],
): Filter {
  const value = list.filterValue(name)
  const all = attributes({ id: `filter-${name}`, name })
  const chosen = options.find((option) => option.value === value)?.label ?? `${label} ${value}`
  return {
    control: html`<div class="select"><label class="hidden-text" for="filter-${name}">${label}</label><select${all}>${optionsOf(options, value)}</select></div>`,
    label: value === '' ? null : chosen,
  }
}

/** Returns a filter by tags, which people type with commas between them. */
export function tagsFilter(value: string, suggestions: readonly string[]): Filter {
  const id = 'filter-tags'
  const all = { id, name: 'tags', value, placeholder: 'All tags', list: `${id}-suggestions`, autocomplete: 'off' }
  const options = suggestions.map((each) => html`<option value="${each}"></option>`)
  return {
    control: html`<div class="select"><label class="hidden-text" for="${id}">Tags</label><input${attributes({ ...all, 'data-list': true })}>
<datalist id="${id}-suggestions">${options}</datalist></div>`,
    label: value === '' ? null : value,
  }
}

/** Renders the form above a list: a search field with the label `search`, and filters. */
export function filterBar(list: ListState, search: string, filters: readonly Filter[]): Html {
  return html`<form class="filters" method="get" action="${list.path}" role="search" data-live="results">
<div class="search">${icon('search')}<label class="hidden-text" for="filter-search">${search}</label>
<input type="search" id="filter-search" name="search" value="${list.query.search ?? ''}" placeholder="${search}" autocomplete="off" spellcheck="false"></div>
${filters.map(({ control }) => control)}${hiddenFields(list.preserved)}<button class="button plain without-script">Apply</button></form>`
}
