/**
 * What the lists of both engines have in common.
 */
import { countedMatches, type Listable, type Listing, type Page } from './port.ts'

/** A listing as an engine sees it, whatever its rows are. It can be sent to a thread. */
export type AnyListing = Omit<Listing<unknown>, 'of'> & { readonly of: AnyListable }
export type AnyListable = Omit<Listable<unknown>, 'columns'> & { readonly columns: readonly string[] }
export type Direction = AnyListing['direction']

/** What a page selects: the columns of a row, in their order. */
export function selected({ columns, computed = {} }: AnyListable): string {
  return columns.map((column) => (column in computed ? `${computed[column]} as ${column}` : column)).join(', ')
}

/** The terms of `order by`. Records that sort alike follow their ids, in the same direction. */
export function orderTerms({ of, sortBy }: AnyListing, direction: Direction): string {
  return sortBy === 'id' ? `id ${direction}` : `${of.sorts[sortBy]} ${direction}, id ${direction}`
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
