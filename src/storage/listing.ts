/**
 * What the lists of both engines have in common.
 */
import type { SideColumn } from '../resources.ts'
import { countedMatches, type Listable, type Listing, type Page } from './port.ts'

/** A listing as an engine sees it, whatever its rows are. It can be sent to a thread. */
export type AnyListing = Omit<Listing<unknown>, 'of'> & { readonly of: AnyListable }
export type AnyListable = Omit<Listable<unknown>, 'columns'> & { readonly columns: readonly string[] }
export type Direction = AnyListing['direction']

/** What a page selects: the columns of a row, in their order. */
export function selected({ columns, computed = {} }: AnyListable): string {
  return columns.map((column) => (column in computed ? `${computed[column]} as ${column}` : column)).join(', ')
}

/** Where an account's records are in the order of a sort: the index of `table` on (`account_id`, `column`, `key`). */
export interface Walk extends SideColumn {
  readonly index: string
}

/** The walk in the order of the listing. `key` is the id of a record, whatever the table is. */
export function walkOf({ of, sortBy }: Pick<AnyListing, 'of' | 'sortBy'>): Walk {
  const { table } = of
  if (sortBy === 'id') return { table, column: 'id', key: 'id', index: `${table}_by_account` }
  const sort = of.sorts[sortBy] as string | SideColumn
  const walk = typeof sort === 'string' ? { table, column: sort, key: 'id' } : sort
  return { ...walk, index: `${walk.table}_by_${sortBy}` }
}

/** The terms of `order by` for a walk. Records that sort alike follow their ids, in the same direction. */
export function walkTerms({ column, key }: Walk, direction: Direction): string {
  return column === key ? `${key} ${direction}` : `${column} ${direction}, ${key} ${direction}`
}

/** What a walk tells of a record, under names that are no columns of the records. */
export function walked({ column, key }: Walk): string {
  return `${key} as walked_id, ${column} as walked_by`
}

/** The terms of `order by` for what `walked` names. */
export function walkedTerms(direction: Direction): string {
  return `walked_by ${direction}, walked_id ${direction}`
}

export function opposite(direction: Direction): Direction {
  return direction === 'asc' ? 'desc' : 'asc'
}

/** The expressions that the listing searches. */
export function searchedTexts({ of, searchIn }: AnyListing): string[] {
  return searchIn.map((name) => of.searched[name] as string)
}

/** The total that a page of a search states when `counted` matches were found. */
export function boundedTotal(counted: number): Omit<Page<unknown>, 'rows'> {
  return { total: Math.min(counted, countedMatches), totalIsExact: counted <= countedMatches }
}

/**
 * The rows as objects. `values` begin with those of the listed columns, in their order. The objects are fresh: V8
 * handles them faster than those of SQLite.
 */
export function toRows<Row>({ columns }: AnyListable, values: readonly (readonly unknown[])[]): Row[] {
  return values.map((each) => {
    const row: Record<string, unknown> = {}
    for (let index = 0; index < columns.length; index++) row[columns[index] as string] = each[index]
    return row as Row
  })
}
