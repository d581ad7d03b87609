/** Lists: pages of records in the order of an index, and their number. Engines run the queries and plan searches. */
import { foldCase } from '../lib/text.ts'
import { type AnyListable, type AnyListing, all, countFilters, omitsArchived } from './list-filters.ts'
import { type Cost, isAfter, type ListEngine, listIndexes, type Source, sortColumn, sorted } from './list-sources.ts'
import { countedMatches, type Listable, type Listing, type Page, type Values } from './port.ts'
import { type Sql, sqlPart } from './sql-text.ts'

/** The most entries of an index that are skipped on the event loop. */
const deep = countedMatches

/** See `Storage.list`. */
export async function listPage<Row>(engine: ListEngine, asked: Listing<Row>): Promise<Page<Row>> {
  const listing = { ...asked, search: asked.search.map(foldCase).filter((term) => term !== '') }
  const { rows, total, totalIsExact } = await readPage(engine, listing)
  return { rows: rows.map((values) => toRow(asked.of, values)), total, totalIsExact }
}

/** A page whose rows start with the total. */
type FoundPage = Page<Values>

function readPage(engine: ListEngine, listing: AnyListing): Promise<FoundPage> {
  const { of, search, sortBy, upTo = null } = listing
  const filters = countFilters(listing)
  if (search.length === 0 && filters === 0) {
    const isTotalStored = of.isUncounted !== true && upTo === null
    return isTotalStored ? plainPage(engine, listing) : countedPage(engine, listing, (each) => sorted(engine, each))
  }
  const [index] = search.length === 0 && filters === 1 && sortBy === 'id' ? listIndexes(engine, listing) : []
  return index?.isSorted ? countedPage(engine, listing, index.source) : matchingPage(engine, listing)
}

/** Reads a page without a search or filter, except for archived records. Triggers maintain the total. */
async function plainPage(engine: ListEngine, listing: AnyListing): Promise<FoundPage> {
  const rows = await engine.select(plainQuery(engine, listing), await pageCost(engine, listing, 'page'))
  const counted = rows.length > 0 ? rows : await engine.select(sqlPart`select ${recordCount(listing)}`, 'page')
  return { rows, total: readTotal(counted), totalIsExact: true }
}

/** Selects a page of all records, or of all unarchived records. */
function plainQuery(engine: ListEngine, listing: AnyListing): Sql {
  const isFirst = listing.offset === 0 && sortColumn(listing).table === listing.of.table
  return (isFirst ? firstPageQuery : pageQuery)(listing, sorted(engine, listing), recordCount(listing))
}

/** Reads a page that an index has in the right order, and counts its records, up to `countedMatches`. */
async function countedPage(
  engine: ListEngine,
  listing: AnyListing,
  source: (listing: AnyListing) => Source,
): Promise<FoundPage> {
  const total = sqlPart`(${countQuery(source({ ...listing, after: null }), countedMatches + 1)})`
  const cost = await pageCost(engine, listing, 'count')
  const rows = await engine.select(pageQuery(listing, source(listing), total), cost)
  const counted = rows.length > 0 ? rows : await engine.select(sqlPart`select ${total}`, cost)
  return { rows, ...boundedTotal(counted) }
}

/** Returns the cost of a page that an index has in the right order. `near` is the cost if the page is near the start. */
async function pageCost(engine: ListEngine, listing: AnyListing, near: Cost): Promise<Cost> {
  if (listing.offset > deep) return 'scan'
  const isArchivedRead = omitsArchived(listing) && (listing.sortBy !== 'id' || countFilters(listing) > 0)
  if (!isArchivedRead) return near
  return (await engine.archivesMany(listing)) ? 'scan' : 'search'
}

/** Reads a page of a search or filter. With more than `countedMatches` matches, walks the sort index instead. */
async function matchingPage(engine: ListEngine, listing: AnyListing): Promise<FoundPage> {
  const { sortBy, offset, withoutScan } = listing
  const { source, isSorted, cost } = await engine.plan(listing)
  if (withoutScan === true && cost === 'scan') return { rows: [], total: 0, totalIsExact: false }
  const found = await engine.select(foundQuery(listing, source({ ...listing, after: null })), cost)
  const counted = boundedTotal(found)
  if (counted.totalIsExact) return { rows: found.filter((values) => values.at(-1) !== null), ...counted }
  const isById = sortBy === 'id' && isSorted
  const query = pageQuery(listing, isById ? source(listing) : sorted(engine, listing), sqlPart.lit(countedMatches))
  return { rows: await engine.select(query, isById && offset <= deep ? cost : 'scan'), ...counted }
}

/** Returns the total, with which each row starts. */
function readTotal(rows: readonly Values[]): number {
  return Number(rows[0]?.[0])
}

function boundedTotal(rows: readonly Values[]): Omit<FoundPage, 'rows'> {
  const total = readTotal(rows)
  return { total: Math.min(total, countedMatches), totalIsExact: total <= countedMatches }
}

/** Selects the first records of a source. PostgreSQL takes a third of its time for `pageQuery`. */
function firstPageQuery(listing: AnyListing, { from, id, sortedBy, where }: Source, total: Sql): Sql {
  const { of, direction, limit } = listing
  const order = sqlPart.raw(direction)
  return sqlPart`select ${total} as total, ${selected(of)} from ${from} where ${all(where)}
    order by ${sortedBy} ${order}, ${id} ${order} limit ${sqlPart.lit(limit)}`
}

/** Selects one page of a source. Each row starts with the total. Reads only the records of that page. */
function pageQuery(listing: AnyListing, source: Source, total: Sql): Sql {
  const { of, direction, limit, offset } = listing
  return sqlPart`select ${total} as total, ${selected(of)} from (
      select ${source.id} as walked_id, ${source.sortedBy} as walked_by from ${source.from} where ${all(source.where)}
      order by ${order(listing, direction)} limit ${sqlPart.lit(limit)} offset cast(${offset} as bigint)
    ) as walked join ${sqlPart.ref(of.table)} on id = walked_id order by ${order(listing, direction)}`
}

/**
 * Selects the page if the source has at most `countedMatches` records. Each row starts with the total and ends with the
 * record's id. A page without records is one row whose id is null.
 */
function foundQuery(listing: AnyListing, source: Source): Sql {
  const { of, direction, limit, offset, after } = listing
  const { table, column, key } = sortColumn(listing)
  const value =
    column === key
      ? sqlPart`id`
      : sqlPart`(select ${sqlPart.ref(column)} from ${sqlPart.ref(table)} where ${sqlPart.ref(key)} = found.id)`
  const following = after === null ? sqlPart`` : sqlPart`and ${isAfter(listing, after)}`
  return sqlPart`with found as materialized (
      select ${source.id} as id from ${source.from} where ${all(source.where)} limit ${sqlPart.lit(countedMatches + 1)}
    ), page as (
      select id as walked_id, ${value} as walked_by from found
      where (select count(*) from found) <= ${sqlPart.lit(countedMatches)} ${following}
      order by ${order(listing, direction)} limit ${sqlPart.lit(limit)} offset cast(${offset} as bigint)
    )
    select (select count(*) from found) as total, ${selected(of)}, walked_id
    from (select 1 as one) as always left join page on true left join ${sqlPart.ref(of.table)} on id = walked_id
    order by ${order(listing, direction)}`
}

/** Counts the records of a source, up to `max`. */
export function countQuery({ from, where }: Pick<Source, 'from' | 'where'>, max: number): Sql {
  return sqlPart`select count(*) from (select 1 from ${from} where ${all(where)} limit ${sqlPart.lit(max)}) as counted`
}

/** Returns the expression for the number of the records that the listing includes. */
function recordCount(listing: AnyListing): Sql {
  const { of, account } = listing
  const stored = storedCount(account, of.table)
  return of.archived && omitsArchived(listing)
    ? sqlPart`${stored} - ${storedCount(account, of.archived.count)}`
    : stored
}

/** Returns the expression for a number in `record_counts`, which PostgreSQL stores in several parts. */
export function storedCount(account: number, name: string): Sql {
  return sqlPart`(select cast(coalesce(sum(total), 0) as bigint) from record_counts
    where account_id = ${account} and resource = ${sqlPart.lit(name)})`
}

/** Returns the sort order. Records with the same value are sorted by id, in the same direction. */
function order({ sortBy }: AnyListing, direction: 'asc' | 'desc'): Sql {
  return sqlPart.raw(sortBy === 'id' ? `walked_by ${direction}` : `walked_by ${direction}, walked_id ${direction}`)
}

/** Returns the listed columns. */
function selected({ columns, computed = {} }: AnyListable): Sql {
  const texts = columns.map((column) => (column in computed ? `${computed[column]} as ${column}` : column))
  return sqlPart.raw(texts.join(', '))
}

/** Returns the listed columns of a row that starts with the total. */
function toRow<Row>({ columns }: Listable<Row>, values: Values): Row {
  const row: Partial<Record<keyof Row, unknown>> = {}
  for (let at = 0; at < columns.length; at++) row[columns[at] as keyof Row] = values[at + 1]
  return row as Row
}
