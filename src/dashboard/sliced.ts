import { positiveInteger } from '../forms/rules.ts'
import type { Fields } from '../http/form-encoding.ts'
import { type Html, html } from '../http/html.ts'
import { perPage } from './list-page.ts'
import { pagination } from './parts/pagination.ts'

/**
 * The rows on the page that the address asks for, of a list that is read as a whole, and the ways to the others; nothing beside
 * a list of one page. The first page for an address that asks for none.
 */
export function sliced<Row>(
  all: readonly Row[],
  path: string,
  { page }: Fields,
): { rows: readonly Row[]; pages: Html } {
  const last = Math.max(1, Math.ceil(all.length / perPage))
  const asked = Math.min(positiveInteger(String(page)) ?? 1, last)
  const href = (to: number) => (to === 1 ? path : `${path}?page=${to}`)
  const rows = all.slice((asked - 1) * perPage, asked * perPage)
  const pages = { page: asked, perPage, total: all.length, totalIsExact: true, href }
  return { rows, pages: last === 1 ? html`` : pagination(pages) }
}
