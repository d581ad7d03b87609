/**
 * The parts of the statements that list. Values are named parameters, given by `parametersOf`.
 */
import { type AnyListable, type AnyListing, searchedTexts } from '../listing.ts'

/**
 * The table by way of the index that has an account's records in that order. The index is named because a planner with
 * statistics may prefer to walk the records of all accounts.
 */
export function tableInOrder(of: AnyListable, sortBy: string): string {
  return `${of.table} indexed by ${of.table}_by_${sortBy === 'id' ? 'account' : sortBy}`
}

/**
 * The account's records in the order of their ids, or those alone that have the listing's value in a filtered column.
 */
export function recordsById(of: AnyListable, column?: string): string {
  if (column === undefined) return `${tableInOrder(of, 'id')} where account_id = :account`
  return `${of.table} indexed by ${of.table}_by_${column} where account_id = :account and ${isFiltered(column)}`
}

/** Whether a record has what the listing searches and filters. */
export function isMatch(listing: AnyListing): string {
  const { search, filter } = listing
  const conditions = Object.keys(filter).map(isFiltered)
  const texts = searchedTexts(listing).map((text) => `instr(${text}, :term) > 0`)
  if (search !== null) conditions.push(`(${texts.join(' or ')})`)
  return conditions.join(' and ')
}

function isFiltered(column: string): string {
  return `${column} is :filter_${column}`
}

/** An id has no more bits than this. */
export const idBits = 40
export const maxId = 2 ** idBits - 1

/** The values for SQL made by the functions above. `low` and `high` are the bounds of the ids that `after` leaves. */
export function parametersOf({ account, search, filter, direction, limit, offset, after }: AnyListing) {
  const low = after !== null && direction === 'asc' ? Math.min(after + 1, maxId) : 0
  const high = after !== null && direction === 'desc' ? Math.min(after - 1, maxId) : maxId
  const filters = Object.entries(filter).map(([column, value]) => [`filter_${column}`, value] as const)
  return { ...Object.fromEntries(filters), account, term: search, limit, offset, low, high }
}
