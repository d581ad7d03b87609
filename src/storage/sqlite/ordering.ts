/**
 * The parts of the statements that list. Values are named parameters, given by `parametersOf`.
 */
import {
  type AnyListable,
  type AnyListing,
  type Direction,
  searchedTexts,
  selected,
  type Walk,
  walked,
  walkedTerms,
  walkOf,
} from '../listing.ts'

/**
 * The table by way of the index that has an account's records in that order. The index is named because a planner with
 * statistics may prefer to walk the records of all accounts.
 */
export function tableInOrder({ table, index }: Walk): string {
  return `${table} indexed by ${index}`
}

/**
 * Selects the records that a walk meets in `rows`, which is what follows `from`: those in `range`, a limit and an offset,
 * by way of their ids alone. Each record ends with `more`.
 */
export function recordsInOrder(
  listing: AnyListing,
  direction: Direction,
  { rows, range, more = [] }: { readonly rows: string; readonly range: string; readonly more?: readonly string[] },
): string {
  const { of } = listing
  const walk = walkOf(listing)
  return `select ${[selected(of), ...more].join(', ')} from (
      select ${walked(walk)} from ${rows} order by ${walkedTerms(direction)} ${range}
    ) cross join ${of.table} on id = walked_id order by ${walkedTerms(direction)}`
}

/**
 * The account's records in the order of their ids, or those alone that have the listing's value in a filtered column.
 */
export function recordsById(of: AnyListable, column?: string): string {
  if (column === undefined) return `${tableInOrder(walkOf({ of, sortBy: 'id' }))} where account_id = :account`
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
