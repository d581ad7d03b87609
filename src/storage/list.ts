/** Lists: pages of records in the order of an index, and their number. Engines run the queries and plan searches. */
import { type OperationNodeSource, sql } from 'kysely'
import { foldCase } from '../lib/text.ts'
import { type AnyListable, type AnyListing, all, groupsOf, type Sql } from './list-filters.ts'
import { type Cost, indexesOf, isAfter, type ListEngine, type Source, sortColumn, sorted } from './list-sources.ts'
import { countedMatches, type Listable, type Listing, type Page, type Values } from './port.ts'
import { CachedQuery } from './schema.ts'

/** The most entries of an index that are skipped at the cost of a `page`, and of a `count`. */
const shallow = 1_000
const deep = countedMatches

/** See `Storage.list`. */
export async function listPage<Row>(engine: ListEngine, asked: Listing<Row>): Promise<Page<Row>> {
  const listing = { ...asked, search: asked.search.map(foldCase).filter((term) => term !== ''), archived: 0 }
  const first = await readPage(engine, listing)
  // Most accounts have no archived records, so the first query counts them, and only then a second leaves them out.
  const { rows, total, totalIsExact } = isReadAgain(listing, first)
    ? await readPage(engine, { ...listing, archived: first.archived })
    : first
  return { rows: rows.map((values) => toRow(asked.of, values)), total, totalIsExact }
}

/** Returns whether a query has found archived records that the listing does not leave out. */
function isReadAgain(listing: AnyListing, { archived }: Pick<FoundPage, 'archived'>): boolean {
  return archived > 0 && listing.archived === 0
}

/** Rows that start with the total, the number of archived records to leave out, and the listed columns. */
interface FoundPage extends Page<Values> {
  readonly archived: number
}

function readPage(engine: ListEngine, listing: AnyListing): Promise<FoundPage> {
  const { of, search, filter, ranges = {}, sortBy, upTo = null } = listing
  const filters = Object.keys(filter).length + Object.keys(ranges).length + groupsOf(listing).length
  if (search.length === 0 && filters === 0) {
    const isTotalStored = of.isUncounted !== true && upTo === null
    return isTotalStored ? plainPage(engine, listing) : countedPage(engine, listing, (each) => sorted(engine, each))
  }
  const [index] = search.length === 0 && filters === 1 && sortBy === 'id' ? indexesOf(engine, listing) : []
  return index?.isSorted ? countedPage(engine, listing, index.source) : matchingPage(engine, listing)
}

/** Reads a page without a search or filter. Triggers maintain the total. A deep page is read from the nearer end. */
async function plainPage(engine: ListEngine, listing: AnyListing): Promise<FoundPage> {
  const { offset } = listing
  if (offset > deep) return deepPage(engine, listing)
  const rows = await engine.select(firstPages(engine, listing), costOf(listing, offset))
  return rows.length === 0 ? deepPage(engine, listing) : { rows, ...countsOf(rows), totalIsExact: true }
}

/** Reads a page that is far from the start or after the end. */
async function deepPage(engine: ListEngine, listing: AnyListing): Promise<FoundPage> {
  const { offset, limit, after } = listing
  const counts = countsOf(await engine.select(sql`select ${countsIn(listing, recordCount(listing))}`, 'page'))
  const { total } = counts
  const none = { rows: [], ...counts, totalIsExact: true }
  if (after !== null || offset >= total || isReadAgain(listing, counts)) return none
  const walk = async (skipped: number, range: Range): Promise<FoundPage | null> => {
    const query = pageQuery(listing, sorted(engine, listing), recordCount(listing), range)
    const rows = await engine.select(query, costOf(listing, skipped))
    return rows.length === 0 ? null : { rows, ...countsOf(rows), totalIsExact: true }
  }
  const end = Math.min(total, offset + limit)
  if (total - end < offset) {
    const range = { isReversed: true, limit: end - offset, offset: total - end }
    const page = await walk(range.offset, range)
    // If records were stored or deleted meanwhile, the page starts elsewhere.
    if (page?.total === total) return page
  }
  return (await walk(offset, {})) ?? none
}

/** Selects a page near the start of all records. */
function firstPages(engine: ListEngine, listing: AnyListing): OperationNodeSource {
  const { of, account, sortBy, direction, limit, offset, after, archived, withoutArchived = false } = listing
  const isFirst = offset === 0 && sortColumn(listing).table === of.table
  const build = isFirst ? firstPageQuery : pageQuery
  if (archived > 0) return build(listing, sorted(engine, listing), recordCount(listing))
  const shape = `page ${of.table} ${of.columns} ${sortBy} ${direction} ${limit} ${after !== null} ${isFirst} ${withoutArchived}`
  const skipped = isFirst ? [] : [offset]
  // The accounts of `countsIn`.
  const counted = [account, ...(of.archived && withoutArchived ? [account] : [])]
  const parameters = after === null ? [...counted, account, ...skipped] : [...counted, account, after, ...skipped]
  return new CachedQuery(shape, parameters, () => build(listing, sorted(engine, listing), recordCount(listing)))
}

/** Reads a page that an index has in the right order, and counts its records, up to `countedMatches`. */
async function countedPage(
  engine: ListEngine,
  listing: AnyListing,
  source: (listing: AnyListing) => Source,
): Promise<FoundPage> {
  const total = sql`(${countQuery(source({ ...listing, after: null }), countedMatches + 1)})`
  const cost = archivesMany(listing) ? 'scan' : 'count'
  const query = pageQuery(listing, source(listing), total)
  const rows = await engine.select(query, listing.offset > deep ? 'scan' : cost)
  const counted = rows.length > 0 ? rows : await engine.select(sql`select ${countsIn(listing, total)}`, cost)
  return { rows, ...boundedCounts(counted) }
}

/** Reads a page of a search or filter. With more than `countedMatches` matches, walks the sort index instead. */
async function matchingPage(engine: ListEngine, listing: AnyListing): Promise<FoundPage> {
  const { sortBy, offset, withoutScan, archived } = listing
  // Candidates are counted with archived records, because those are read too.
  const { source, isSorted, cost: planned } = await engine.plan({ ...listing, archived: 0 })
  const cost = archivesMany(listing) ? 'scan' : planned
  if (withoutScan === true && cost === 'scan') return { rows: [], total: 0, totalIsExact: false, archived }
  const found = await engine.select(foundQuery(listing, source({ ...listing, after: null })), cost)
  const counts = boundedCounts(found)
  if (counts.totalIsExact) return { rows: found.filter((values) => values.at(-1) !== null), ...counts }
  if (isReadAgain(listing, counts)) return { rows: [], ...counts }
  const isById = sortBy === 'id' && isSorted
  const query = pageQuery(listing, isById ? source(listing) : sorted(engine, listing), sql.lit(countedMatches))
  return { rows: await engine.select(query, isById && offset <= deep ? cost : 'scan'), ...counts }
}

/** Returns the numbers with which each row starts: see `countsIn`. */
function countsOf(rows: readonly Values[]): Pick<FoundPage, 'total' | 'archived'> {
  const [total, archived] = rows[0] ?? []
  return { total: Number(total), archived: Number(archived) }
}

function boundedCounts(rows: readonly Values[]): Omit<FoundPage, 'rows'> {
  const { total, archived } = countsOf(rows)
  return { total: Math.min(total, countedMatches), totalIsExact: total <= countedMatches, archived }
}

function costOf(listing: AnyListing, skipped: number): Cost {
  const read = skipped + listing.archived
  if (read <= shallow) return 'page'
  return skipped <= deep && !archivesMany(listing) ? 'count' : 'scan'
}

/** Returns whether reading past the archived records takes long. They may be next to each other. */
function archivesMany({ archived }: AnyListing): boolean {
  return archived > deep
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
 * Selects the page if the source has at most `countedMatches` records. Each row starts with the counts and ends with the
 * record's id. A page without records is one row whose id is null.
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
export function countQuery({ from, where }: Pick<Source, 'from' | 'where'>, max: number): Sql {
  return sql`select count(*) from (select 1 from ${from} where ${all(where)} limit ${sql.lit(max)}) as counted`
}

/** Returns the expression for the number of the account's records. */
function recordCount(listing: AnyListing): Sql {
  const { of, account, archived } = listing
  const stored = storedCount(account, of.table)
  return archived === 0 ? stored : sql`${stored} - ${archivedCount(listing)}`
}

/** Returns the expressions for a total and for the number of archived records to leave out. */
function countsIn(listing: AnyListing, total: Sql): Sql {
  return sql`${total} as total, ${archivedCount(listing)} as archived`
}

/** Returns the expression for the number of the account's archived records, if the listing leaves them out. */
function archivedCount({ of: { archived }, account, withoutArchived }: AnyListing): Sql {
  return archived && withoutArchived ? storedCount(account, archived.count) : sql`0`
}

/** Returns the expression for a number in `record_counts`, which PostgreSQL stores in several parts. */
function storedCount(account: number, name: string): Sql {
  return sql`(select cast(coalesce(sum(total), 0) as bigint) from record_counts
    where account_id = ${account} and resource = ${sql.lit(name)})`
}

/** Returns the sort order. Records with the same value are sorted by id, in the same direction. */
function order({ sortBy }: AnyListing, direction: 'asc' | 'desc'): Sql {
  return sql.raw(sortBy === 'id' ? `walked_by ${direction}` : `walked_by ${direction}, walked_id ${direction}`)
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
