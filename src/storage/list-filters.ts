/** The conditions of a listing's filters, ranges and groups. */
import type { Groups, RangeColumn } from '../resources.ts'
import type { GroupIds, Listable, Listing } from './port.ts'
import { type Sql, sqlPart } from './sql-text.ts'

/** A listing whose search is folded, without the type of its rows. */
export type AnyListing = Omit<Listing<unknown>, 'of'> & { readonly of: AnyListable }
export type AnyListable = Omit<Listable<unknown>, 'columns'> & { readonly columns: readonly string[] }

/** Returns the conditions of a listing, except for its account and its search. */
export function buildFilters(listing: AnyListing): Sql[] {
  const { of, account, filter, ranges = {}, upTo = null } = listing
  const conditions = Object.entries(filter).map(([column, value]) =>
    value === null ? sqlPart`${sqlPart.ref(column)} is null` : sqlPart`${sqlPart.ref(column)} = ${value}`,
  )
  for (const name of Object.keys(ranges)) conditions.push(...rangeConditions(listing, name))
  for (const group of listGroups(listing)) {
    const { from, where } = selectMembers(account, group)
    const isOwn = sqlPart`${sqlPart.ref(group.key)} = ${sqlPart.ref(of.table)}.id`
    conditions.push(sqlPart`exists (select 1 from ${from} where ${where} and ${isOwn})`)
  }
  if (upTo !== null) conditions.push(sqlPart`id <= cast(${upTo} as bigint)`)
  return conditions
}

/** Returns the conditions that a record's value is in a range. */
function rangeConditions(listing: AnyListing, name: string): Sql[] {
  const { of, account } = listing
  const { column } = rangeColumn(listing, name)
  const inRange = buildBounds(listing, name)
  if (typeof column === 'string') return inRange
  const { table, key } = column
  const isOwn = sqlPart`${sqlPart.ref(key)} = ${sqlPart.ref(of.table)}.id and account_id = ${account}`
  return [sqlPart`exists (select 1 from ${sqlPart.ref(table)} where ${isOwn} and ${all(inRange)})`]
}

/** Returns the conditions for the table of a range's column. */
export function buildBounds(listing: AnyListing, name: string): Sql[] {
  const { column, where } = rangeColumn(listing, name)
  const { from, before } = listing.ranges?.[name] ?? {}
  const value = sqlPart.ref(typeof column === 'string' ? column : column.column)
  return [
    ...(from === undefined ? [] : [sqlPart`${value} >= ${from}`]),
    ...(before === undefined ? [] : [sqlPart`${value} < ${before}`]),
    ...(where === undefined ? [] : [sqlPart.raw(where)]),
  ]
}

/** Returns the column of a range. */
export function rangeColumn({ of }: AnyListing, name: string): RangeColumn {
  return of.ranges?.[name] as RangeColumn
}

/** Returns whether a listing leaves out archived records, as lists do by default. */
export function omitsArchived({ of: { archived }, filter }: AnyListing): boolean {
  return archived !== undefined && filter[archived.column] === 0
}

/** Returns the number of columns, ranges and groups that a listing filters by, except that it omits archived records. */
export function countFilters(listing: AnyListing): number {
  const { filter, ranges = {} } = listing
  const columns = Object.keys(filter).length - (omitsArchived(listing) ? 1 : 0)
  return columns + Object.keys(ranges).length + listGroups(listing).length
}

/** One of the groups that must have the record, with its name in `Resource.groups`. */
export interface GroupFilter extends Groups {
  readonly name: string
  readonly ids: GroupIds
}

/** Returns the groups that a matching record has. */
export function listGroups({ of, groups = {} }: AnyListing): GroupFilter[] {
  return Object.entries(groups).flatMap(([name, all]) =>
    all.map((ids) => ({ name, ids, ...(of.groups?.[name] as Groups) })),
  )
}

/** Returns the account's rows of a group. */
export function selectMembers(account: number, { table, group, ids }: GroupFilter): { from: Sql; where: Sql } {
  return {
    from: sqlPart.ref(table),
    where: sqlPart`account_id = ${account} and ${sqlPart.ref(group)} in (${sqlPart.join(ids)})`,
  }
}

/** Returns a condition that holds if all of these do. */
export function all(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? sqlPart`1 = 1` : sqlPart.join(conditions, ' and ')
}
