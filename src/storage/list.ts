/** Lists: pages of records in the order of an index, and their number. Engines run the queries and plan searches. */
import { type OperationNodeSource, type RawBuilder, sql } from 'kysely'
import { foldCase } from '../lib/fold-case.ts'
import type { RangeColumn, SideColumn } from '../resources.ts'
import { countedMatches, type Listable, type Listing, type Page } from './port.ts'
import { CachedQuery } from './schema.ts'

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
type AnyListable = Omit<Listable<unknown>, 'columns'> & { readonly columns: readonly string[] }

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
  /** Returns the condition that a nullable text contains a folded term. */
  contains(text: Sql, term: string): Sql
  /** Chooses an index for a search or for several filters. */
  plan(listing: AnyListing): Promise<Plan>
}

/** The most entries of an index that are skipped at the cost of a `page`, and of a `count`. */
const shallow = 1_000
const deep = countedMatches

/** See `Storage.list`. */
export async function listPage<Row>(engine: ListEngine, asked: Listing<Row>): Promise<Page<Row>> {
  const listing = { ...asked, search: asked.search.map(foldCase), hidden: 0 }
  const first = await readPage(engine, listing)
  // Hardly any account has hidden records, so no other query looks for them.
  const { rows, total, totalIsExact } = isReadAgain(listing, first)
    ? await readPage(engine, { ...listing, hidden: first.hidden })
    : first
  return { rows: rows.map((values) => toRow(asked.of, values)), total, totalIsExact }
}

/** Returns whether a query has found hidden records that the listing does not leave out. */
function isReadAgain(listing: AnyListing, { hidden }: Pick<FoundPage, 'hidden'>): boolean {
  return hidden > 0 && listing.hidden === 0
}

/** Rows that start with the total, the number of the account's hidden records, and the listed columns. */
interface FoundPage extends Page<Values> {
  readonly hidden: number
}

function readPage(engine: ListEngine, listing: AnyListing): Promise<FoundPage> {
  const { search, filter, sortBy } = listing
  const filters = [...Object.keys(filter), ...Object.keys(listing.ranges ?? {})]
  if (search.length === 0 && filters.length === 0) return plainPage(engine, listing)
  const isByColumn = search.length === 0 && filters.length === 1 && (filters[0] as string) in filter
  if (isByColumn && sortBy === 'id') return filteredPage(engine, listing)
  return matchingPage(engine, listing)
}

/** Reads a page without a search or filter. Triggers maintain the total. A deep page is read from the nearer end. */
async function plainPage(engine: ListEngine, listing: AnyListing): Promise<FoundPage> {
  const { offset, limit, after } = listing
  const walk = async (skipped: number, query: OperationNodeSource): Promise<FoundPage | null> => {
    const rows = await engine.select(query, costOf(listing, skipped))
    return rows.length === 0 ? null : { rows, ...countsOf(rows), totalIsExact: true }
  }
  const near = offset > deep ? null : await walk(offset, firstPages(engine, listing))
  if (near !== null) return near
  const counts = countsOf(await engine.select(sql`select ${countsIn(listing, recordCount(listing))}`, 'page'))
  const { total } = counts
  const none = { rows: [], ...counts, totalIsExact: true }
  if (after !== null || offset >= total || isReadAgain(listing, counts)) return none
  const pageOf = (range: Range) => pageQuery(listing, sorted(engine, listing), recordCount(listing), range)
  const end = Math.min(total, offset + limit)
  if (total - end < offset) {
    const range = { isReversed: true, limit: end - offset, offset: total - end }
    const page = await walk(range.offset, pageOf(range))
    // If records were stored or deleted meanwhile, the page starts elsewhere.
    if (page?.total === total) return page
  }
  return (await walk(offset, pageOf({}))) ?? none
}

/** Selects a page near the start of all records. */
function firstPages(engine: ListEngine, listing: AnyListing): OperationNodeSource {
  const { of, account, sortBy, direction, limit, offset, after, hidden } = listing
  const isFirst = offset === 0 && sortColumn(listing).table === of.table
  const build = isFirst ? firstPageQuery : pageQuery
  if (hidden > 0) return build(listing, sorted(engine, listing), recordCount(listing))
  const shape = `page ${of.table} ${of.columns} ${sortBy} ${direction} ${limit} ${after !== null} ${isFirst}`
  const skipped = isFirst ? [] : [offset]
  const counted = of.hidden === undefined ? [account] : [account, account]
  const parameters = after === null ? [...counted, account, ...skipped] : [...counted, account, after, ...skipped]
  return new CachedQuery(shape, parameters, () => build(listing, sorted(engine, listing), recordCount(listing)))
}

/** Reads a page that the index of one filter has in the right order. */
async function filteredPage(engine: ListEngine, listing: AnyListing): Promise<FoundPage> {
  const [column = ''] = Object.keys(listing.filter)
  const all = filtered(engine, { ...listing, after: null }, column)
  const total = sql`(${countQuery(all, countedMatches + 1)})`
  const cost = hidesMany(listing) ? 'scan' : 'count'
  const query = pageQuery(listing, filtered(engine, listing, column), total)
  const rows = await engine.select(query, listing.offset > deep ? 'scan' : cost)
  const counted = rows.length > 0 ? rows : await engine.select(sql`select ${countsIn(listing, total)}`, cost)
  return { rows, ...boundedCounts(counted) }
}

/** Reads a page of a search or filter. With more than `countedMatches` matches, walks the sort index instead. */
async function matchingPage(engine: ListEngine, listing: AnyListing): Promise<FoundPage> {
  const { sortBy, offset, withoutScan, hidden } = listing
  // Candidates are counted with hidden records, because those are read too.
  const { source, isSorted, cost: planned } = await engine.plan({ ...listing, hidden: 0 })
  const cost = hidesMany(listing) ? 'scan' : planned
  if (withoutScan === true && cost === 'scan') return { rows: [], total: 0, totalIsExact: false, hidden }
  const found = await engine.select(foundQuery(listing, source({ ...listing, after: null })), cost)
  const counts = boundedCounts(found)
  if (counts.totalIsExact) return { rows: found.filter((values) => values.at(-1) !== null), ...counts }
  if (isReadAgain(listing, counts)) return { rows: [], ...counts }
  const isById = sortBy === 'id' && isSorted
  const query = pageQuery(listing, isById ? source(listing) : sorted(engine, listing), sql.lit(countedMatches))
  return { rows: await engine.select(query, isById && offset <= deep ? cost : 'scan'), ...counts }
}

/** Returns the numbers with which each row starts: see `countsIn`. */
function countsOf(rows: readonly Values[]): Pick<FoundPage, 'total' | 'hidden'> {
  const [total, hidden] = rows[0] ?? []
  return { total: Number(total), hidden: Number(hidden) }
}

function boundedCounts(rows: readonly Values[]): Omit<FoundPage, 'rows'> {
  const { total, hidden } = countsOf(rows)
  return { total: Math.min(total, countedMatches), totalIsExact: total <= countedMatches, hidden }
}

function costOf(listing: AnyListing, skipped: number): Cost {
  const read = skipped + listing.hidden
  if (read <= shallow) return 'page'
  return skipped <= deep && !hidesMany(listing) ? 'count' : 'scan'
}

/** Returns whether reading past the hidden records takes long. They may be next to each other. */
function hidesMany({ hidden }: AnyListing): boolean {
  return hidden > deep
}

interface Range {
  readonly isReversed?: boolean
  readonly limit?: number
  readonly offset?: number
}

/** Selects the first records of a source. PostgreSQL takes a third of its time for `pageQuery`. */
function firstPageQuery(listing: AnyListing, { from, id, sortedBy, where }: Source, total: Sql): Sql {
  const { of, direction, limit } = listing
  const order = sql.raw(direction)
  return sql`select ${countsIn(listing, total)}, ${selected(of)} from ${from} where ${all(where)}
    order by ${sortedBy} ${order}, ${id} ${order} limit ${sql.lit(limit)}`
}

/** Selects one page of a source. Each row starts with the counts. Reads only the records of that page. */
function pageQuery(listing: AnyListing, source: Source, total: Sql, range: Range = {}): Sql {
  const { of, direction } = listing
  const { isReversed = false, limit = listing.limit, offset = listing.offset } = range
  const walking = isReversed === (direction === 'asc') ? 'desc' : 'asc'
  return sql`select ${countsIn(listing, total)}, ${selected(of)} from (
      select ${source.id} as walked_id, ${source.sortedBy} as walked_by from ${source.from} where ${all(source.where)}
      order by ${order(listing, walking)} limit ${sql.lit(limit)} offset cast(${offset} as bigint)
    ) as walked join ${sql.table(of.table)} on id = walked_id order by ${order(listing, direction)}`
}

/**
 * Selects the page if the source has at most `countedMatches` records. Each row starts with the counts, and ends with the id of the record. A page without records is one row whose id is null.
 */
function foundQuery(listing: AnyListing, source: Source): Sql {
  const { of, direction, limit, offset, after } = listing
  const { table, column, key } = sortColumn(listing)
  const value =
    column === key
      ? sql`id`
      : sql`(select ${sql.ref(column)} from ${sql.table(table)} where ${sql.ref(key)} = found.id)`
  const following = after === null ? sql`` : sql`and ${isAfter(listing, after)}`
  return sql`with found as materialized (
      select ${source.id} as id from ${source.from} where ${all(source.where)} limit ${sql.lit(countedMatches + 1)}
    ), page as (
      select id as walked_id, ${value} as walked_by from found
      where (select count(*) from found) <= ${sql.lit(countedMatches)} ${following}
      order by ${order(listing, direction)} limit ${sql.lit(limit)} offset cast(${offset} as bigint)
    )
    select ${countsIn(listing, sql`(select count(*) from found)`)}, ${selected(of)}, walked_id
    from (select 1 as one) as always left join page on true left join ${sql.table(of.table)} on id = walked_id
    order by ${order(listing, direction)}`
}

/** Counts the records of a source, up to `max`. */
export function countQuery({ from, where }: Source, max: number): Sql {
  return sql`select count(*) from (select 1 from ${from} where ${all(where)} limit ${sql.lit(max)}) as counted`
}

/** Returns the expression for the number of the account's records, which PostgreSQL stores in several parts. */
function recordCount(listing: AnyListing): Sql {
  const { of, account, hidden } = listing
  const stored = sql`(select cast(coalesce(sum(total), 0) as bigint) from record_counts
    where account_id = ${account} and resource = ${sql.lit(of.table)})`
  return hidden === 0 ? stored : sql`${stored} - ${hiddenCount(listing)}`
}

/** Returns the expressions for a total and for the number of the account's hidden records. */
function countsIn(listing: AnyListing, total: Sql): Sql {
  return sql`${total} as total, ${hiddenCount(listing)} as hidden`
}

function hiddenCount({ of: { hidden }, account }: AnyListing): Sql {
  if (hidden === undefined) return sql`0`
  const { total, table } = hidden
  return sql`(select cast(coalesce(sum(${sql.ref(total)}), 0) as bigint) from ${sql.table(table)}
    where account_id = ${account})`
}

/** Returns the records that match, in the order of the listing. */
function sorted(engine: ListEngine, listing: AnyListing): Source {
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
    from: sql`(${side}) as side join ${sql.table(of.table)} on id = side_id`,
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
  const { of, account, filter, hidden, ranges = {} } = listing
  const conditions = Object.entries(filter).map(([column, value]) =>
    value === null ? sql`${sql.ref(column)} is null` : sql`${sql.ref(column)} = ${value}`,
  )
  for (const name of Object.keys(ranges)) conditions.push(...rangeConditions(listing, name))
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
  // Without other conditions, the index alone has the answer.
  if (where.length === 1) return { from: side, id: sql`side_id`, sortedBy: sql`side_id`, where: [] }
  const from = sql`${side} join ${sql.table(of.table)} on id = side_id`
  return { from, id: sql`id`, sortedBy: sql`id`, where }
}

/** Returns the conditions that the searched texts contain each folded term. */
export function searchOf(engine: ListEngine, { of, search, searchIn }: AnyListing): Sql[] {
  const texts = searchIn.map((name) => sql.raw(of.searched[name] as string))
  return search.map((term) => {
    const matches = texts.map((text) => engine.contains(text, term))
    return sql`(${sql.join(matches, sql` or `)})`
  })
}

function isAfter({ direction }: AnyListing, after: number): Sql {
  return sql`id ${sql.raw(direction === 'asc' ? '>' : '<')} cast(${after} as bigint)`
}

function sortColumn({ of, sortBy }: AnyListing): SideColumn {
  const { table } = of
  if (sortBy === 'id') return { table, column: 'id', key: 'id' }
  const sort = of.sorts[sortBy] as string | SideColumn
  return typeof sort === 'string' ? { table, column: sort, key: 'id' } : sort
}

/** Returns the sort order. Records with the same value are sorted by id, in the same direction. */
function order({ sortBy }: AnyListing, direction: 'asc' | 'desc'): Sql {
  return sql.raw(sortBy === 'id' ? `walked_by ${direction}` : `walked_by ${direction}, walked_id ${direction}`)
}

export function all(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? sql`1 = 1` : sql.join(conditions, sql` and `)
}

function selected({ columns, computed = {} }: AnyListable): Sql {
  return sql.raw(columns.map((column) => (column in computed ? `${computed[column]} as ${column}` : column)).join(', '))
}

/** Returns the listed columns of a row that starts with the counts. */
function toRow<Row>({ columns }: Listable<Row>, values: Values): Row {
  const row: Partial<Record<keyof Row, unknown>> = {}
  for (let at = 0; at < columns.length; at++) row[columns[at] as keyof Row] = values[at + 2]
  return row as Row
}
