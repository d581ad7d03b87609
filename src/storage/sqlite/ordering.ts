import type { AnyListable, AnyListing } from './raw-page.ts'

export type SortKey = AnyListing['sortBy']
export type Direction = AnyListing['direction']

/** The terms of `order by`; equal names are in the order of their ids, in the same direction. */
export function orderTerms(of: AnyListable, sortBy: SortKey, direction: Direction): string {
  return sortBy === 'id' ? `id ${direction}` : `${of.sorts[sortBy]} ${direction}, id ${direction}`
}

/**
 * The table by way of the index that has an account's records in that order. The index is named because a planner with
 * statistics may prefer to walk the records of all accounts.
 */
export function tableInOrder(of: AnyListable, sortBy: SortKey): string {
  return `${of.table} indexed by ${of.table}_by_${sortBy === 'id' ? 'account' : sortBy}`
}

export function opposite(direction: Direction): Direction {
  return direction === 'asc' ? 'desc' : 'asc'
}

/** SQL for the text of a record that is searched. */
export function searchedText(of: AnyListable): string {
  return Object.values(of.searched)[0] as string
}
