import type { SQLOutputValue } from 'node:sqlite'
import { toRows } from '../listing.ts'
import type { Listable, Page } from '../port.ts'

/** A page whose rows are arrays. Each begins with the values of the listed columns, in their order. */
export interface RawPage extends Omit<Page<unknown>, 'rows'> {
  readonly rows: SQLOutputValue[][]
}

/** The page with rows as the caller knows them. */
export function toPage<Row>(of: Listable<Row>, page: RawPage): Page<Row> {
  return { ...page, rows: toRows(of, page.rows) }
}
