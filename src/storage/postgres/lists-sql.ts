/**
 * The parts that the SQL of lists is made of. Parameter 1 is always the account. No value ever becomes part of the text:
 * names of columns and expressions come from the `Listable`, everything else is a parameter or a number.
 */
import type { Listable, Listing } from '../port.ts'

export type AnyListing = Omit<Listing<unknown>, 'of'> & { readonly of: AnyListable }
export type AnyListable = Omit<Listable<unknown>, 'columns'> & { readonly columns: readonly string[] }
export type Direction = AnyListing['direction']

/** The terms of `order by`. Records that sort alike follow their ids, in the same direction. */
export function orderTerms({ of, sortBy }: AnyListing, direction: Direction): string {
  return sortBy === 'id' ? `id ${direction}` : `${of.sorts[sortBy]} ${direction}, id ${direction}`
}

export function opposite(direction: Direction): Direction {
  return direction === 'asc' ? 'desc' : 'asc'
}

/** The condition for records that come after the id `parameter`. */
export function isAfter({ direction }: AnyListing, parameter: string): string {
  return `id ${direction === 'asc' ? '>' : '<'} ${parameter}`
}

/** An expression for the number of the account's records. */
export function totalOf(of: AnyListable): string {
  return `(select coalesce(sum(total), 0)::bigint from record_counts where account_id = $1 and resource = '${of.table}')`
}

/** The rows as objects. `values` begin with those of the listed columns, in their order. */
export function toRows<Row>({ columns }: AnyListable, values: readonly (readonly unknown[])[]): Row[] {
  return values.map((each) => {
    const row: Record<string, unknown> = {}
    for (let index = 0; index < columns.length; index++) row[columns[index] as string] = each[index]
    return row as Row
  })
}

/** The expressions that the listing searches. */
export function searchedTexts({ of, searchIn }: AnyListing): string[] {
  const asked = Object.entries(of.searched).filter(([name]) => searchIn === undefined || searchIn.includes(name))
  return asked.map(([, text]) => text)
}

/** The columns that the listing filters by, each with the value that it must have. */
export function filtersOf({ of, filter = {} }: AnyListing): [column: string, value: string | number | null][] {
  return of.filters.flatMap((column) => {
    const value = filter[column]
    return value === undefined ? [] : [[column, value]]
  })
}
