/**
 * Pages of what a listing searches or filters. A source gives the ids of candidates in order; their records tell which
 * of them match.
 */
import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite'
import { type AnyListing, boundedTotal, type Direction, walkOf, walkTerms } from '../../listing.ts'
import { countedMatches } from '../../port.ts'
import { isMatch, parametersOf, recordsById, recordsInOrder, tableInOrder } from '../ordering.ts'
import { query, queryNumber } from '../prepared.ts'
import type { RawPage } from '../raw-page.ts'

/** Records that are walked over on trial. */
const shortWalk = 1_000

/** Candidates in SQL, each once. */
export interface Source {
  /** The id of a candidate. */
  readonly id: string
  /** What follows `from`, with a condition that keeps ids between `:low` and `:high`. */
  readonly from: string
  readonly order: (direction: Direction) => string
  /** Whether every candidate matches. */
  readonly isExact: boolean
  /** Values of parameters beside those of `parametersOf`. */
  readonly values?: Readonly<Record<string, SQLInputValue>>
}

/** The records with the value of a filter, a source for each filter; without one, all records of the account. */
export function recordSources({ of, search, filter }: AnyListing): Source[] {
  const columns = Object.keys(filter)
  const source = (column?: string): Source => ({
    id: 'id',
    from: `${recordsById(of, column)} and id between :low and :high`,
    order: (direction) => `id ${direction}`,
    isExact: search === null && columns.length === 1,
  })
  return columns.length === 0 ? [source()] : columns.map(source)
}

interface Search {
  readonly db: DatabaseSync
  readonly listing: AnyListing
  /** The one with the fewest candidates is used; the last ones cost the most to count. */
  readonly sources: readonly Source[]
  /** Candidates that are looked at for the total, and again for the page; null for all of them. */
  readonly maxLookedAt: number | null
}

/**
 * Null when the page takes looking at more than `maxLookedAt` candidates. `known` is the number of matches where it is
 * known, counted to one more than `countedMatches`. Must run in a transaction: page and total are of one moment then.
 */
export function matchingPage(search: Search, known?: number): RawPage | null {
  const { db, listing, sources, maxLookedAt } = search
  const source = shortest(search) ?? (maxLookedAt === null ? sources[0] : undefined)
  if (source === undefined) return null
  const size = known ?? (source.isExact ? countCandidates(db, listing, source, countedMatches + 1) : undefined)
  const all = size === undefined ? allMatches(search, source) : undefined
  if (all === null) return null
  const counted = size ?? (all?.count as number)
  const rows = counted > countedMatches ? pageOfMany(search, source) : pageOfFew(search, source, counted, all)
  return rows && { rows, ...boundedTotal(counted) }
}

function pageOfMany(search: Search, source: Source): SQLOutputValue[][] | null {
  const { listing, maxLookedAt } = search
  const { sortBy, limit } = listing
  // Where many records match, a short walk over them meets the first page sooner than long lists of words do.
  const near = sortBy === 'id' ? firstMatches(search, recordSources(listing)[0] as Source, limit, shortWalk) : undefined
  if (near?.count === limit) return rowsOf(search, near)
  const first = firstMatches(search, sortBy === 'id' ? source : inOrder(listing), limit, maxLookedAt)
  return first.count === limit || maxLookedAt === null ? rowsOf(search, first) : null
}

/** `all` are the matches where they have been found already. */
function pageOfFew(search: Search, source: Source, counted: number, all?: Matches): SQLOutputValue[][] | null {
  const { sortBy, limit, offset } = search.listing
  const want = Math.min(limit, counted - offset)
  if (want <= 0) return []
  if (all === undefined || sortBy !== 'id') {
    // A walk in the order of a column pays while it looks at fewer records than match.
    const [from, max] = sortBy === 'id' ? [source, search.maxLookedAt] : [inOrder(search.listing), counted]
    const first = firstMatches(search, from, want, max)
    if (first.count === want) return rowsOf(search, first)
  }
  const matches = all ?? allMatches(search, source)
  return matches && pageAmong(search, matches)
}

/** The source with the fewest candidates; undefined when all of several have more than are counted. */
function shortest({ db, listing, sources }: Search): Source | undefined {
  if (sources.length === 1) return sources[0]
  let fewest: { readonly source?: Source; readonly size: number } = { size: countedMatches + 1 }
  for (const source of sources) {
    const size = countCandidates(db, listing, source, fewest.size)
    if (size < fewest.size) fewest = { source, size }
  }
  return fewest.source
}

/** Counts no further than `max`. */
function countCandidates(db: DatabaseSync, listing: AnyListing, { from, values }: Source, max: number): number {
  const counted = `select count(*) from (select 1 from ${from} limit :max + 0)`
  return queryNumber(db, counted, { ...parametersOf({ ...listing, after: null }), ...values, max })
}

/** The ids of matches, as a JSON array. */
interface Matches {
  readonly ids: string
  readonly count: number
}

/** All matches by ascending id, or one more than are counted; null when that takes looking at too many candidates. */
function allMatches({ db, listing, maxLookedAt }: Search, source: Source): Matches | null {
  const sql = `with candidates as ${maxLookedAt === null ? '' : 'materialized'} (
      select ${source.id} as candidate from ${source.from} order by ${source.order('asc')} limit :max + 0)
    select json_group_array(id), count(*), ${maxLookedAt === null ? 0 : '(select count(*) from candidates)'}
      from (select id from candidates cross join ${listing.of.table} on id = candidate
        where ${isMatch(listing)} limit ${countedMatches + 1})`
  const values = { ...parametersOf({ ...listing, after: null }), ...source.values, max: maxLookedAt ?? -1 }
  const [ids, count, lookedAt] = query(db, sql, values)[0] as [string, number, number]
  return lookedAt === maxLookedAt && count <= countedMatches ? null : { ids, count }
}

/** The matches of the page, as far as they are among the first `max` candidates in order; null for all of these. */
function firstMatches({ db, listing }: Search, source: Source, want: number, max: number | null): Matches {
  const { of, direction } = listing
  const { id, from, order, isExact, values } = source
  const candidates = `select ${id} as candidate from ${from} order by ${order(direction)}`
  const matching = isExact
    ? `${candidates} limit :want + 0 offset :offset + 0`
    : `select candidate from (${candidates} limit :max + 0) cross join ${of.table} on id = candidate
        where ${isMatch(listing)} limit :want + 0 offset :offset + 0`
  const found = `select json_group_array(candidate), count(*) from (${matching})`
  const [ids, count] = query(db, found, { ...parametersOf(listing), ...values, want, max: max ?? -1 })[0] as [
    string,
    number,
  ]
  return { ids, count }
}

/** All records of the account, in the order of a column. */
function inOrder(listing: AnyListing): Source {
  const walk = walkOf(listing)
  const from = `${tableInOrder(walk)} where account_id = :account`
  return { id: walk.key, from, order: (direction) => walkTerms(walk, direction), isExact: false }
}

/** The page among all matches. */
function pageAmong(search: Search, matches: Matches): SQLOutputValue[][] {
  const { sortBy, direction, limit, offset, after } = search.listing
  if (sortBy !== 'id') return rowsOf(search, matches, limit, offset)
  const isUp = direction === 'asc'
  const all = JSON.parse(matches.ids) as number[]
  const following = after === null ? all : all.filter((id) => (isUp ? id > after : id < after))
  const page = (isUp ? following : following.reverse()).slice(offset, offset + limit)
  return rowsOf(search, { ids: JSON.stringify(page) })
}

function rowsOf({ db, listing }: Search, { ids }: Pick<Matches, 'ids'>, limit = -1, offset = 0): SQLOutputValue[][] {
  const { table, key } = walkOf(listing)
  const rows = `(select value as match from json_each(:ids)) cross join ${table} on ${key} = match`
  const page = recordsInOrder(listing, listing.direction, { rows, range: 'limit :limit + 0 offset :offset + 0' })
  return query(db, page, { ids, limit, offset })
}
