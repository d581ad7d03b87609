/**
 * The parts of which the statements of lists are made. Parameter 1 is the account everywhere.
 */
import type { Listable, Listing } from '../port.ts'

export type AnyListing = Omit<Listing<unknown>, 'of'> & { readonly of: AnyListable }
export type AnyListable = Omit<Listable<unknown>, 'columns'> & { readonly columns: readonly string[] }
export type Direction = AnyListing['direction']

/** The terms of `order by`; equal names are in the order of their ids, in the same direction. */
export function orderTerms({ of, sortBy }: AnyListing, direction: Direction): string {
  return sortBy === 'id' ? `id ${direction}` : `${of.sorts[sortBy]} ${direction}, id ${direction}`
}

export function opposite(direction: Direction): Direction {
  return direction === 'asc' ? 'desc' : 'asc'
}

/** The number of the account's records: an expression. */
export function totalOf(of: AnyListable): string {
  return `(select coalesce(sum(total), 0)::bigint from record_counts where account_id = $1 and resource = '${of.table}')`
}

/** The rows as the caller knows them; `values` begin with those of the listed columns, in their order. */
export function toRows<Row>({ columns }: AnyListable, values: readonly (readonly unknown[])[]): Row[] {
  return values.map((each) => {
    const row: Record<string, unknown> = {}
    for (let index = 0; index < columns.length; index++) row[columns[index] as string] = each[index]
    return row as Row
  })
}

/** SQL for the text of a record that is searched. */
export function searchedText(of: AnyListable): string {
  return Object.values(of.searched)[0] as string
}
