/** Where the records of a listing are read from: an index, with the conditions that matches meet. */
import { urlTerm } from '../lib/url-search.ts'
import type { SideColumn } from '../resources.ts'
import {
  type AnyListing,
  all,
  buildBounds,
  buildFilters,
  type GroupFilter,
  listGroups,
  omitsArchived,
  rangeColumn,
  selectMembers,
} from './list-filters.ts'
import type { Values } from './port.ts'
import { type Sql, sqlPart } from './sql-text.ts'

/**
 * The most that a query reads. `page`: some entries near the start of an index. `count`: `countedMatches` index entries.
 * `search`: what an index finds quickly. `scan`: all records of the account.
 */
export type Cost = 'page' | 'count' | 'search' | 'scan'

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
  select(query: Sql, cost: Cost): Promise<Values[]>
  /** SQL after a table name that makes the engine use this index. Empty if the engine chooses indexes itself. */
  indexHint(index: string): Sql
  /** SQL for a join that reads the rows on the left first. Without statistics, SQLite may read all records first. */
  readonly joinInOrder: Sql
  /** Returns the condition that a nullable text contains a folded term. */
  contains(text: Sql, term: string): Sql
  /** Chooses an index for a search or for several filters. */
  plan(listing: AnyListing): Promise<Plan>
  /** Returns whether a listing leaves out more than `countedMatches` archived records, which its index may have first. */
  archivesMany(listing: AnyListing): Promise<boolean>
}

/** An index that finds the matches of a part of a listing. */
export interface Index extends Omit<Plan, 'cost'> {
  /** The entries that are read to find all matches of this part. */
  readonly entries: Pick<Source, 'from' | 'where'>
}

/** Returns the indexes of the listing's groups, filters and ranges. Omitting archived records is not a filter here. */
export function listIndexes(engine: ListEngine, listing: AnyListing): Index[] {
  const { of, filter, ranges = {} } = listing
  const none = { ...listing, after: null, search: [], filter: {}, ranges: {}, groups: {}, upTo: null }
  const toIndex = (source: Plan['source'], part: Partial<AnyListing>, isSorted = true) => ({
    source,
    isSorted,
    entries: source({ ...none, ...part }),
  })
  const columns = Object.keys(filter).filter(
    (column) =>
      of.unindexedFilters?.includes(column) !== true && !(column === of.archived?.column && omitsArchived(listing)),
  )
  return [
    ...listGroups(listing).map((group) =>
      toIndex((each) => grouped(engine, each, group), { groups: { [group.name]: [group.ids] } }),
    ),
    ...columns.map((column) =>
      toIndex((each) => filtered(engine, each, column), { filter: { [column]: filter[column] ?? null } }),
    ),
    ...Object.entries(ranges)
      .filter(([name]) => rangeColumn(listing, name).isIndexed)
      .map(([name, range]) => toIndex((each) => ranged(engine, each, name), { ranges: { [name]: range } }, false)),
  ]
}

/** Returns the records that match, in the order of the listing. */
export function sorted(engine: ListEngine, listing: AnyListing): Source {
  const { of, account, sortBy, ranges = {} } = listing
  if (sortBy === 'id') return filtered(engine, listing, omitsArchived(listing) ? of.archived?.column : undefined)
  const { table, column, key } = sortColumn(listing)
  const index = `${table}_by_${sortBy}`
  const entries = sqlPart`${sqlPart.ref(table)}${engine.indexHint(index)}`
  const [id, sortedBy] = [sqlPart.ref(key), sqlPart.ref(column)]
  if (table === of.table) return { from: entries, id, sortedBy, where: buildConditions(engine, listing) }
  // A range of the sorted column limits the index. Otherwise its matches could be at the end.
  const { [sortBy]: range, ...others } = ranges
  const isInRange = all([
    sqlPart`account_id = ${account}`,
    ...(range === undefined ? [] : buildBounds(listing, sortBy)),
  ])
  const side = sqlPart`select ${id} as side_id, ${sortedBy} as side_by from ${entries} where ${isInRange}`
  return joined(engine, { ...listing, ranges: others }, side, sqlPart`side_by`)
}

/** Returns the records that match, from entries of a side table, which have the account and the `side_id` of the record. */
function joined(engine: ListEngine, listing: AnyListing, side: Sql, sortedBy = sqlPart`side_id`): Source {
  const own = { id: sqlPart`side_id`, sortedBy }
  const where = buildConditions(engine, listing)
  // Without other conditions, the entries are enough.
  if (where.length === 1) return { from: sqlPart`(${side}) as side`, where: [], ...own }
  return {
    from: sqlPart`(${side}) as side ${engine.joinInOrder} ${sqlPart.ref(listing.of.table)} on id = side_id`,
    where,
    ...own,
  }
}

/** Returns the records that match, by ascending id, from the index of a filter or, without `column`, of all records. */
export function filtered(engine: ListEngine, listing: AnyListing, column?: string): Source {
  const { table } = listing.of
  const from = sqlPart`${sqlPart.ref(table)}${engine.indexHint(`${table}_by_${column ?? 'account'}`)}`
  return { from, id: sqlPart`id`, sortedBy: sqlPart`id`, where: buildConditions(engine, listing) }
}

/** Returns the conditions that a matching record meets. */
function buildConditions(engine: ListEngine, listing: AnyListing): Sql[] {
  const { account, after } = listing
  const conditions = [sqlPart`account_id = ${account}`, ...buildFilters(listing), ...buildSearch(engine, listing)]
  if (after !== null) conditions.push(isAfter(listing, after))
  return conditions
}

/** Returns the records that match, from the index of a range. */
function ranged(engine: ListEngine, listing: AnyListing, name: string): Source {
  const { account, ranges = {} } = listing
  const { column } = rangeColumn(listing, name)
  if (typeof column === 'string') return filtered(engine, listing, name)
  const { [name]: _, ...others } = ranges
  const entries = sqlPart`${sqlPart.ref(column.table)}${engine.indexHint(`${column.table}_by_${name}`)}`
  const isInRange = all([sqlPart`account_id = ${account}`, ...buildBounds(listing, name)])
  const side = sqlPart`select ${sqlPart.ref(column.key)} as side_id from ${entries} where ${isInRange}`
  return joined(engine, { ...listing, ranges: others }, side)
}

/** Returns the records that match, by ascending id, from the rows of a group. */
function grouped(engine: ListEngine, listing: AnyListing, { name, ids, ...group }: GroupFilter): Source {
  const { account, after, groups = {} } = listing
  const { from, where } = selectMembers(account, { name, ids, ...group })
  const distinct = ids.length > 1 ? sqlPart`distinct` : sqlPart``
  const follows = after === null ? sqlPart`` : sqlPart`and ${isAfter(listing, after, sqlPart.ref(group.key))}`
  const side = sqlPart`select ${distinct} ${sqlPart.ref(group.key)} as side_id from ${from} where ${where} ${follows}`
  const others = { ...groups, [name]: (groups[name] ?? []).filter((each) => each !== ids) }
  return joined(engine, { ...listing, after: null, groups: others }, side)
}

/** Returns the conditions that the searched texts contain each folded term. */
export function buildSearch(engine: ListEngine, listing: AnyListing): Sql[] {
  const { searched } = listing.of
  return listing.search.map((term) => {
    const matches = listSpellings(listing, term).flatMap(({ text, fields }) =>
      fields.map((name) => engine.contains(sqlPart.raw(searched[name] as string), text)),
    )
    return sqlPart`(${sqlPart.join(matches, ' or ')})`
  })
}

/** The text that some of the searched fields have to contain for a term. */
interface Spelling {
  readonly text: string
  readonly fields: readonly string[]
}

/** Returns the spellings of a folded term. URLs have their own: see `urlTerm`. */
export function listSpellings({ of, searchIn }: AnyListing, term: string): Spelling[] {
  const isUrl = (name: string) => of.searchedUrls?.includes(name) === true
  const inUrls = urlTerm(term)
  if (inUrls === term || !searchIn.some(isUrl)) return [{ text: term, fields: searchIn }]
  const others = searchIn.filter((name) => !isUrl(name))
  const ofUrls = { text: inUrls, fields: searchIn.filter(isUrl) }
  return others.length === 0 ? [ofUrls] : [{ text: term, fields: others }, ofUrls]
}

export function isAfter({ direction }: AnyListing, after: number, id: Sql = sqlPart`id`): Sql {
  return sqlPart`${id} ${sqlPart.raw(direction === 'asc' ? '>' : '<')} cast(${after} as bigint)`
}

export function sortColumn({ of, sortBy }: AnyListing): SideColumn {
  const { table } = of
  if (sortBy === 'id') return { table, column: 'id', key: 'id' }
  const sort = of.sorts[sortBy] as string | SideColumn
  return typeof sort === 'string' ? { table, column: sort, key: 'id' } : sort
}
