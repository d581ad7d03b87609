/** Where the records of a listing are read from: an index, with the conditions that matches meet. */
import { type OperationNodeSource, type RawBuilder, sql } from 'kysely'
import type { Groups, RangeColumn, SideColumn } from '../resources.ts'
import type { GroupIds, Listable, Listing } from './port.ts'

export type Sql = RawBuilder<unknown>

/** The values of a row, in the order of the columns. */
export type Values = readonly unknown[]

/**
 * The most that a query reads. `page`: some entries near the start of an index. `count`: `countedMatches` index entries.
 * `search`: what an index finds quickly. `scan`: all records of the account.
 */
export type Cost = 'page' | 'count' | 'search' | 'scan'

/** A listing whose search is folded, without the type of its rows. */
export type AnyListing = Omit<Listing<unknown>, 'of'> & {
  readonly of: AnyListable
  /** How many hidden records it leaves out; 0 until a query has found some. */
  readonly hidden: number
}
export type AnyListable = Omit<Listable<unknown>, 'columns'> & { readonly columns: readonly string[] }

/** Records to page through, or an index of them. */
export interface Source {
  /** SQL after `from`. It joins the table of the records if `where` needs it. */
  readonly from: Sql
  readonly id: Sql
  readonly sortedBy: Sql
  readonly where: readonly Sql[]
}

/** How to find the matches of a listing. */
export interface Plan {
  /** Returns the matches of this listing, or of a listing with another `after`. */
  readonly source: (listing: AnyListing) => Source
  /** Whether the matches are sorted by id. */
  readonly isSorted: boolean
  readonly cost: Cost
}

export interface ListEngine {
  /** Returns the values of each row, because objects with all columns would be copied. */
  select(query: OperationNodeSource, cost: Cost): Promise<Values[]>
  /** SQL after a table name that makes the engine use this index. Empty if the engine chooses indexes itself. */
  indexHint(index: string): Sql
  /** SQL for a join that reads the rows on the left first. Without statistics, SQLite may read all records first. */
  readonly joinInOrder: Sql
  /** Returns the condition that a nullable text contains a folded term. */
  contains(text: Sql, term: string): Sql
  /** Chooses an index for a search or for several filters. */
  plan(listing: AnyListing): Promise<Plan>
}

/** Returns the records that match, in the order of the listing. */
export function sorted(engine: ListEngine, listing: AnyListing): Source {
  const { of, account, sortBy, ranges = {} } = listing
  const { table, column, key } = sortColumn(listing)
  const index = sortBy === 'id' ? `${table}_by_account` : `${table}_by_${sortBy}`
  const entries = sql`${sql.table(table)}${engine.indexHint(index)}`
  const own = { id: sql.ref(key), sortedBy: sql.ref(column) }
  if (table === of.table) return { from: entries, where: conditionsOf(engine, listing), ...own }
  // A range of the sorted column limits the index. Otherwise its matches could be at the end.
  const { [sortBy]: range, ...others } = ranges
  const isInRange = [sql`account_id = ${account}`, ...(range === undefined ? [] : boundsOf(listing, sortBy))]
  const where = conditionsOf(engine, { ...listing, ranges: others })
  if (where.length === 1) return { from: entries, where: isInRange, ...own }
  const side = sql`select ${own.id} as side_id, ${own.sortedBy} as side_by from ${entries} where ${all(isInRange)}`
  return {
    from: sql`(${side}) as side ${engine.joinInOrder} ${sql.table(of.table)} on id = side_id`,
    id: sql`side_id`,
    sortedBy: sql`side_by`,
    where,
  }
}

/** Returns the records that match, by ascending id, from the index of a filter or, without `column`, of all records. */
export function filtered(engine: ListEngine, listing: AnyListing, column?: string): Source {
  const { table } = listing.of
  const from = sql`${sql.table(table)}${engine.indexHint(`${table}_by_${column ?? 'account'}`)}`
  return { from, id: sql`id`, sortedBy: sql`id`, where: conditionsOf(engine, listing) }
}

/** Returns the conditions that a matching record meets. */
function conditionsOf(engine: ListEngine, listing: AnyListing): Sql[] {
  const { account, after } = listing
  const conditions = [sql`account_id = ${account}`, ...filtersOf(listing), ...searchOf(engine, listing)]
  if (after !== null) conditions.push(isAfter(listing, after))
  return conditions
}

export function filtersOf(listing: AnyListing): Sql[] {
  const { of, account, filter, hidden, ranges = {}, withoutArchived } = listing
  const conditions = Object.entries(filter).map(([column, value]) =>
    value === null ? sql`${sql.ref(column)} is null` : sql`${sql.ref(column)} = ${value}`,
  )
  for (const name of Object.keys(ranges)) conditions.push(...rangeConditions(listing, name))
  for (const group of groupsOf(listing)) {
    const { key } = groupsTable(listing, group)
    const { from, where } = membersOf(listing, group)
    conditions.push(
      sql`exists (select 1 from ${from} where ${all(where)} and ${sql.ref(key)} = ${sql.table(of.table)}.id)`,
    )
  }
  if (hidden > 0 && of.archived && withoutArchived) conditions.push(sql`${sql.ref(of.archived.column)} = 0`)
  if (hidden === 0 || of.hidden === undefined) return conditions
  const { column, table } = of.hidden
  // A subquery, because records may have become visible since the first query.
  conditions.push(sql`${sql.ref(column)} not in (select id from ${sql.table(table)} where account_id = ${account})`)
  return conditions
}

/** Returns the conditions that a record's value is in a range. */
function rangeConditions(listing: AnyListing, name: string): Sql[] {
  const { of, account } = listing
  const { column } = rangeColumn(listing, name)
  const inRange = boundsOf(listing, name)
  if (typeof column === 'string') return inRange
  const { table, key } = column
  const isOwn = sql`${sql.ref(key)} = ${sql.table(of.table)}.id and account_id = ${account}`
  return [sql`exists (select 1 from ${sql.table(table)} where ${isOwn} and ${all(inRange)})`]
}

/** Returns the conditions for the table of a range's column. */
function boundsOf(listing: AnyListing, name: string): Sql[] {
  const { column, where } = rangeColumn(listing, name)
  const { from, before } = listing.ranges?.[name] ?? {}
  const value = sql.ref(typeof column === 'string' ? column : column.column)
  return [
    ...(from === undefined ? [] : [sql`${value} >= ${from}`]),
    ...(before === undefined ? [] : [sql`${value} < ${before}`]),
    ...(where === undefined ? [] : [sql.raw(where)]),
  ]
}

function rangeColumn({ of }: AnyListing, name: string): RangeColumn {
  return of.ranges?.[name] as RangeColumn
}

/** Returns the names of the listing's ranges that have an index. */
export function indexedRanges(listing: AnyListing): string[] {
  return Object.keys(listing.ranges ?? {}).filter((name) => rangeColumn(listing, name).isIndexed)
}

/** Returns the records that match, from the index of a range. */
export function ranged(engine: ListEngine, listing: AnyListing, name: string): Source {
  const { of, account, ranges = {} } = listing
  const { column } = rangeColumn(listing, name)
  if (typeof column === 'string') return filtered(engine, listing, name)
  const { [name]: _, ...others } = ranges
  const entries = sql`${sql.table(column.table)}${engine.indexHint(`${column.table}_by_${name}`)}`
  const isInRange = all([sql`account_id = ${account}`, ...boundsOf(listing, name)])
  const where = conditionsOf(engine, { ...listing, ranges: others })
  const side = sql`(select ${sql.ref(column.key)} as side_id from ${entries} where ${isInRange}) as side`
  // Without other conditions, the index is enough.
  if (where.length === 1) return { from: side, id: sql`side_id`, sortedBy: sql`side_id`, where: [] }
  const from = sql`${side} ${engine.joinInOrder} ${sql.table(of.table)} on id = side_id`
  return { from, id: sql`id`, sortedBy: sql`id`, where }
}

/** One of the groups that must have the record: its name in `Resource.groups`, and its position. */
interface GroupFilter {
  readonly name: string
  readonly place: number
}

export function groupsOf({ groups = {} }: AnyListing): GroupFilter[] {
  return Object.entries(groups).flatMap(([name, all]) => all.map((_, place) => ({ name, place })))
}

function groupsTable({ of }: AnyListing, { name }: GroupFilter): Groups {
  return of.groups?.[name] as Groups
}

/** Returns the account's rows of a group. */
function membersOf(listing: AnyListing, filter: GroupFilter): Pick<Source, 'from' | 'where'> {
  const { table, group } = groupsTable(listing, filter)
  const { groups = {} } = listing
  const [only, ...others] = (groups[filter.name] ?? [])[filter.place] as GroupIds
  const isIn = others.length === 0 ? sql`= ${only}` : sql`in (${sql.join([only, ...others])})`
  return { from: sql.table(table), where: [sql`account_id = ${listing.account}`, sql`${sql.ref(group)} ${isIn}`] }
}

/** Returns the records that match, by ascending id, from the rows of a group. */
export function grouped(engine: ListEngine, listing: AnyListing, filter: GroupFilter): Source {
  const { of, after, direction, groups = {} } = listing
  const { key } = groupsTable(listing, filter)
  const ofName = groups[filter.name] as readonly GroupIds[]
  const { from, where } = membersOf(listing, filter)
  const distinct = (ofName[filter.place] as GroupIds).length > 1 ? sql`distinct` : sql``
  const follows =
    after === null ? [] : [sql`${sql.ref(key)} ${sql.raw(direction === 'asc' ? '>' : '<')} cast(${after} as bigint)`]
  const side = sql`(select ${distinct} ${sql.ref(key)} as side_id from ${from} where ${all([...where, ...follows])}) as side`
  const others = { ...groups, [filter.name]: ofName.toSpliced(filter.place, 1) }
  const conditions = conditionsOf(engine, { ...listing, after: null, groups: others })
  const own = { id: sql`side_id`, sortedBy: sql`side_id` }
  // The rows of the group have the account, so without other conditions they are enough.
  if (conditions.length === 1) return { from: side, where: [], ...own }
  return { from: sql`${side} ${engine.joinInOrder} ${sql.table(of.table)} on id = side_id`, where: conditions, ...own }
}

/** Returns the conditions that the searched texts contain each folded term. */
export function searchOf(engine: ListEngine, { of, search, searchIn }: AnyListing): Sql[] {
  const texts = searchIn.map((name) => sql.raw(of.searched[name] as string))
  return search.map((term) => {
    const matches = texts.map((text) => engine.contains(text, term))
    return sql`(${sql.join(matches, sql` or `)})`
  })
}

export function isAfter({ direction }: AnyListing, after: number): Sql {
  return sql`id ${sql.raw(direction === 'asc' ? '>' : '<')} cast(${after} as bigint)`
}

export function sortColumn({ of, sortBy }: AnyListing): SideColumn {
  const { table } = of
  if (sortBy === 'id') return { table, column: 'id', key: 'id' }
  const sort = of.sorts[sortBy] as string | SideColumn
  return typeof sort === 'string' ? { table, column: sort, key: 'id' } : sort
}

export function all(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? sql`1 = 1` : sql.join(conditions, sql` and `)
}
