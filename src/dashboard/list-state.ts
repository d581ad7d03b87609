/** Lists: the URL contains the entire state, so that back, reload and sharing work. */
import { Failure } from '../errors.ts'
import type { Form } from '../forms/form.ts'
import { checkListQuery, type ListQuery, pageRequestOf } from '../forms/list-query.ts'
import { positiveInteger } from '../forms/rules.ts'
import type { Fields } from '../http/form-encoding.ts'
import { type Html, html } from '../http/html.ts'
import type { Resource } from '../resources.ts'
import type { PageRequest } from '../storage/port.ts'
import { pagination } from './parts/list-controls.ts'

/** The default number of rows on a page. */
const rowsPerPage = 25

/** The state of a list, and the URLs of its other states. */
export class ListState {
  readonly query: ListQuery
  readonly request: PageRequest
  readonly #path: string
  readonly #given: URLSearchParams

  /** Throws `validation_failed` for an invalid query. */
  constructor(path: string, given: Fields, form: Form<ListQuery>, resource: Resource) {
    const query = checkListQuery({ per_page: String(rowsPerPage), ...given }, form)
    if (query instanceof Failure) throw query
    this.query = query
    this.request = pageRequestOf(query, resource)
    this.#path = path
    const filled = Object.entries(given).filter(([, value]) => String(value).trim() !== '')
    this.#given = new URLSearchParams(filled.map(([name, value]) => [name, String(value)]))
  }

  /** The page number, from 1. */
  get page(): number {
    return this.query.page ?? 1
  }

  /** Returns the value of a filter in the URL; empty if there is none. */
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
    return text === '' ? this.#path : `${this.#path}?${text}`
  }

  /** The current URL. */
  get currentHref(): string {
    return this.pageHref(this.page)
  }

  /** Returns the URL with another page number. */
  pageHref(page: number): string {
    return this.href({ page: page === 1 ? null : String(page) })
  }

  /** Returns the URL of the list in another order. */
  sortHref(by: string, isDescending: boolean): string {
    return this.href({ sort_by: by, sort: isDescending ? 'desc' : 'asc' })
  }
}

/** Renders a message instead of rows. `why` is used on the first page. Scripts announce it. */
export function noRowsMessage(list: ListState, why: string): Html {
  return list.page === 1 ? html`<p data-count>${why}</p>` : emptyPageMessage(list)
}

/** Renders a message for an empty page after the last one. */
export function emptyPageMessage(list: ListState): Html {
  return html`<p data-count>This page is empty. <a href="${list.pageHref(1)}">Go to the first page</a></p>`
}

/** Returns the requested rows of an in-memory list, and the pagination. A list of one page has no pagination. */
export function slicePage<Row>(
  all: readonly Row[],
  path: string,
  { page }: Fields,
): { rows: readonly Row[]; pages: Html } {
  const last = Math.max(1, Math.ceil(all.length / rowsPerPage))
  const wanted = Math.min(positiveInteger(String(page)) ?? 1, last)
  const href = (to: number) => (to === 1 ? path : `${path}?page=${to}`)
  const rows = all.slice((wanted - 1) * rowsPerPage, wanted * rowsPerPage)
  const pages = { page: wanted, perPage: rowsPerPage, total: all.length, totalIsExact: true, href }
  return { rows, pages: last === 1 ? html`` : pagination(pages) }
}
