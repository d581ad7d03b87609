/** Lists: the URL contains the entire state, so that back, reload and sharing work. */
import { Failure } from '../errors.ts'
import type { Form } from '../forms/form.ts'
import { type ListQuery, pageRequestOf } from '../forms/list-query.ts'
import { positiveInteger } from '../forms/rules.ts'
import { icon } from '../frame/icons.ts'
import type { Fields } from '../http/form-encoding.ts'
import { type Html, html } from '../http/html.ts'
import { linkListQuery, linkRangesOf } from '../links/link-list.ts'
import { type LinkRow, listLinksQuery } from '../links/schema.ts'
import { listLinks } from '../links/store.ts'
import { type Resource, resources } from '../resources.ts'
import type { Page, PageRequest, Storage } from '../storage/port.ts'
import { attributes, hiddenFields } from './parts/buttons.ts'
import { type Choice, optionsOf } from './parts/fields.ts'
import { formatCount } from './parts/format.ts'
import type { Sorting } from './parts/table.ts'

const rowsPerPage = 25

/** The state of a list, and the URLs of its other states. */
export class ListState {
  readonly query: ListQuery
  readonly request: PageRequest
  readonly path: string
  readonly #given: URLSearchParams

  /** `rangesOf` returns the ranges to filter by. Throws `validation_failed` for an invalid query. */
  constructor(
    path: string,
    given: Fields,
    form: Form<ListQuery>,
    resource: Resource,
    rangesOf: (query: ListQuery) => PageRequest['ranges'] = () => undefined,
  ) {
    const query = form.check({ per_page: String(rowsPerPage), ...given })
    if (query instanceof Failure) throw query
    this.query = query
    const ranges = rangesOf(query)
    this.request = { ...pageRequestOf(query, resource), ...(ranges && { ranges }) }
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

  #pageHref(page: number): string {
    return this.href({ page: page === 1 ? null : String(page) })
  }

  get sorting(): Sorting {
    const { sort_by, sort } = this.query
    const href = (by: string, isDown: boolean) => this.href({ sort_by: by, sort: isDown ? 'desc' : 'asc' })
    return { by: sort_by, isDescending: sort === 'desc', href }
  }

  pagination(total: number, totalIsExact: boolean): Html {
    const { page, query } = this
    return pagination({ page, perPage: query.per_page, total, totalIsExact, href: (page) => this.#pageHref(page) })
  }

  emptyPageMessage(): Html {
    return html`<p data-count>This page is empty. <a href="${this.#pageHref(1)}">Go to the first page</a></p>`
  }
}

/** Returns the state of the list of links, which has more filters than in the API. Throws `validation_failed`. */
export function linkListState(path: string, given: Fields): ListState {
  return new ListState(path, given, linkListQuery, resources.links, linkRangesOf)
}

/** Returns the first ten links for a query, and how many there are. */
export function firstLinks(storage: Storage, account: number, query: Fields): Promise<Page<LinkRow>> {
  const list = new ListState('', { per_page: '10', ...query }, listLinksQuery, resources.links)
  return listLinks(storage, account, list.request)
}

/** Returns the requested rows of an in-memory list, and the pagination. A list of one page has no pagination. */
export function slicePage<Row>(all: readonly Row[], path: string, query: Fields) {
  const last = Math.max(1, Math.ceil(all.length / rowsPerPage))
  const page = Math.min(positiveInteger(String(query.page)) ?? 1, last)
  const href = (to: number) => (to === 1 ? path : `${path}?page=${to}`)
  const rows = all.slice((page - 1) * rowsPerPage, page * rowsPerPage)
  const pages = { page, perPage: rowsPerPage, total: all.length, totalIsExact: true, href }
  return { rows, pages: last === 1 ? html`` : pagination(pages) }
}

interface Pagination {
  readonly page: number
  readonly perPage: number
  readonly total: number
  /** Whether there are no more rows than `total`. */
  readonly totalIsExact: boolean
  readonly href: (page: number) => string
}

/** Renders "1–25 of 214", and links to the previous and next page. */
export function pagination({ page, perPage, total, totalIsExact, href }: Pagination): Html {
  const first = Math.min((page - 1) * perPage + 1, total)
  const last = Math.min(page * perPage, total)
  const all = totalIsExact ? formatCount(total) : `more than ${formatCount(total)}`
  const range = html`<p data-count>${formatCount(first)}–${formatCount(last)} of ${all}</p>`
  if (page === 1 && last === total && totalIsExact) return html`<div class="pages">${range}</div>`
  const before = page > 1 ? href(page - 1) : null
  const after = last < total || !totalIsExact ? href(page + 1) : null
  return html`<div class="pages">${range}<nav class="actions" aria-label="Pages">
<a${step(before, 'prev')}>${icon('before')}Previous</a> <a${step(after, 'next')}>Next${icon('chevron')}</a></nav></div>`
}

/** A disabled link stays in place, so that the other one does not move. */
function step(href: string | null, rel: string): Html {
  if (href !== null) return attributes({ class: 'button', href, rel })
  return attributes({ class: 'button', role: 'link', 'aria-disabled': 'true' })
}

export interface Filter {
  readonly name: string
  readonly label: string
  /** The first option means "any". */
  readonly options: readonly Choice[]
}

/** Renders the form above a list: a search field with the label `search`, filters, and other fields to preserve. */
export function filterBar(
  list: ListState,
  search: string,
  filters: readonly Filter[],
  preserved: Readonly<Record<string, string>>,
): Html {
  const selects = filters.map(({ name, label, options }) => {
    const value = list.filterValue(name)
    const all = attributes({ id: `filter-${name}`, name, 'data-set': value !== (options[0]?.value ?? '') })
    return html`<div class="select"><label class="hidden-text" for="filter-${name}">${label}</label><select${all}>${optionsOf(options, value)}</select></div>`
  })
  return html`<form class="filters" method="get" action="${list.path}" role="search" data-live="results">
<div class="search">${icon('search')}<label class="hidden-text" for="filter-search">${search}</label>
<input type="search" id="filter-search" name="search" value="${list.query.search ?? ''}" placeholder="${search}" autocomplete="off" spellcheck="false"></div>
${selects}${hiddenFields(preserved)}<button class="button plain without-script">Apply</button></form>`
}
