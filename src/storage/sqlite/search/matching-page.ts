/**
 * Pages of the records that a listing searches or filters: candidates come from a source, one by one, and each is
 * looked at unless the source is exact.
 */
import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite'
import { countedMatches } from '../../port.ts'
import { type Direction, isMatch, orderTerms, parametersOf, recordsById, tableInOrder } from '../ordering.ts'
import { iterate, query, queryNumber } from '../prepared.ts'
import { type AnyListing, boundedTotal, type RawPage } from '../raw-page.ts'

/** Candidates in SQL, each once. */
export interface Source {
  /** The id of the record. */
  readonly id: string
  /** What follows `from`, with a condition that keeps ids between `:low` and `:high`. */
  readonly from: string
  /** The terms of `order by` that give the ids in order. */
  readonly order: (direction: Direction) => string
  /** Whether every candidate matches. */
  readonly isExact: boolean
  /** Values of parameters beside those of `parametersOf`. */
  readonly values?: Readonly<Record<string, SQLInputValue>>
}

/** The records with the value of a filter, a source for each filter; without one, all records of the account. */
export function recordSources({ of, search, filter = {} }: AnyListing): Source[] {
  const columns = Object.keys(filter)
  const source = (column?: string): Source => ({
    id: 'id',
    from: `${recordsById(of, column)} and id between :low and :high`,
    order: (direction) => `id ${direction}`,
    isExact: search === null && columns.length === 1,
  })
  return columns.length === 0 ? [source()] : columns.map(source)
}

export interface Search {
  readonly db: DatabaseSync
  readonly listing: AnyListing
  /** The one with the fewest candidates is used. */
  readonly sources: readonly Source[]
  /** Candidates that are looked at for one list of ids. */
  readonly maxLookedAt: number
}

export interface Found {
  readonly page: RawPage
  /** The number of matches; at most one more than `countedMatches`. */
  readonly counted: number
}

/**
 * Must run in a transaction, so that page and total are of the same moment. `known` is the number of matches where it
 * is known. Null when more than `maxLookedAt` candidates would have to be looked at.
 */
export function matchingPage(search: Search, known?: number): Found | null {
  const { listing } = search
  const { sortBy, direction, limit, offset } = listing
  const source = shortest(search)
  const found = (rows: SQLOutputValue[][], counted: number) => ({ page: { rows, ...boundedTotal(counted) }, counted })
  let counted = known ?? (source.isExact ? countCandidates(search, source) : undefined)
  if (counted === undefined || (counted <= countedMatches && sortBy !== 'id')) {
    const whole = { ...search, listing: { ...listing, after: null } }
    const ids = find(whole, source, { direction: 'asc', skip: 0, want: countedMatches + 1 })
    if (ids === null) return null
    counted = ids.length
    if (counted <= countedMatches) return found(pageAmong(search, ids), counted)
  }
  const want = counted > countedMatches ? limit : Math.min(limit, counted - offset)
  if (want <= 0) return found([], counted)
  const ids = find(search, sortBy === 'id' ? source : inOrder(listing), { direction, skip: offset, want })
  return ids && found(rowsOf(search, ids), counted)
}

function shortest(search: Search): Source {
  const sizes = search.sources.length === 1 ? [0] : search.sources.map((source) => countCandidates(search, source))
  return search.sources[sizes.indexOf(Math.min(...sizes))] as Source
}

function countCandidates({ db, listing }: Search, { from, values }: Source): number {
  const counted = `select count(*) from (select 1 from ${from} limit ${countedMatches + 1})`
  return queryNumber(db, counted, { ...parametersOf({ ...listing, after: null }), ...values })
}

/** All records, in the order of a column. */
function inOrder({ of, sortBy }: AnyListing): Source {
  return {
    id: 'id',
    from: `${tableInOrder(of, sortBy)} where account_id = :account`,
    order: (direction) => orderTerms(of, sortBy, direction),
    isExact: false,
  }
}

interface Stretch {
  readonly direction: Direction
  readonly skip: number
  readonly want: number
}

/** The ids of a stretch of the matches in order; null when more candidates would have to be looked at than may be. */
function find(search: Search, source: Source, { direction, skip, want }: Stretch): number[] | null {
  const { db, listing, maxLookedAt } = search
  const matches = source.isExact ? 'true' : isMatch(listing)
  // Where all candidates may be looked at, SQLite passes over those that do not match.
  const [flag, condition] = Number.isFinite(maxLookedAt) ? [matches, 'true'] : ['true', matches]
  const sql = `select ${source.id}, ${flag} from ${source.from} and ${condition} order by ${source.order(direction)}`
  const ids: number[] = []
  let left = skip
  let lookedAt = 0
  for (const [match, matched] of iterate(db, sql, { ...parametersOf(listing), ...source.values })) {
    if (matched === 1 && left-- <= 0) ids.push(Number(match))
    if (ids.length === want) return ids
    if (++lookedAt === maxLookedAt) return null
  }
  return ids
}

/** The page among all matches, whose ids ascend. */
function pageAmong(search: Search, ids: readonly number[]): SQLOutputValue[][] {
  const { sortBy, direction, limit, offset, after = null } = search.listing
  if (sortBy !== 'id') return rowsOf(search, ids, { limit, offset })
  const isUp = direction === 'asc'
  const following = after === null ? ids : ids.filter((id) => (isUp ? id > after : id < after))
  return rowsOf(search, (isUp ? following : following.toReversed()).slice(offset, offset + limit))
}

function rowsOf({ db, listing }: Search, ids: readonly number[], { limit, offset } = { limit: -1, offset: 0 }) {
  const { of, sortBy, direction } = listing
  const page = `select ${of.columns} from (select value as match from json_each(:ids)) cross join ${of.table} on id = match
    order by ${orderTerms(of, sortBy, direction)} limit :limit offset :offset`
  return query(db, page, { ids: JSON.stringify(ids), limit, offset })
}
