import type { SQLOutputValue } from 'node:sqlite'
import { countedMatches, type Listable, type Listing, type Page } from '../port.ts'

/** A listing as the engine sees it, whatever its rows are. It can be sent to a thread. */
export type AnyListing = Omit<Listing<unknown>, 'of'> & { readonly of: AnyListable }
export type AnyListable = Omit<Listable<unknown>, 'columns'> & { readonly columns: readonly string[] }

/** A page whose rows are arrays: the values of the listed columns, in their order. */
export interface RawPage extends Omit<Page<unknown>, 'rows'> {
  readonly rows: SQLOutputValue[][]
}

/** The total that a page of a search states when `counted` matches were found. */
export function boundedTotal(counted: number): Omit<RawPage, 'rows'> {
  return { total: Math.min(counted, countedMatches), totalIsExact: counted <= countedMatches }
}

/** The page with rows as the caller knows them. They are fresh objects, which V8 handles faster than SQLite's own. */
export function toPage<Row>(of: Listable<Row>, page: RawPage): Page<Row> {
  const { columns } = of
  const rows = page.rows.map((values) => {
    const row: Record<string, unknown> = {}
    for (let index = 0; index < columns.length; index++) row[columns[index] as string] = values[index]
    return row as Row
  })
  return { rows, total: page.total, totalIsExact: page.totalIsExact }
}
