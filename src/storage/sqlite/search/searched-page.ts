/**
 * Searches by the index of grams, at a moment when it is at the present of the database.
 */

import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import { countedMatches } from '../../port.ts'
import { orderTerms, searchedText, tableInOrder } from '../ordering.ts'
import { countRecords, deepestOffset } from '../plain-page.ts'
import { query } from '../prepared.ts'
import { type AnyListing, boundedTotal, type RawPage } from '../raw-page.ts'
import { DenseGrams } from './dense-grams.ts'
import { idOf } from './index-file.ts'
import type { Position } from './indexing.ts'
import { planSearch } from './plan.ts'
import { inIndex, inRecords, parametersOf, type Search } from './sql.ts'
import { Tallies } from './tallies.ts'

/** What helps later searches of the same index. */
export class SearchMemory {
  readonly dense = new DenseGrams()
  readonly tallies = new Tallies()
}

/** Records that are walked at most. */
const longestWalk = 20_000
/** Walking over so many records is faster than asking the index, which orders matches by id as well. */
const shortWalk = 150
/** It goes on for so long when matches come later than expected: then it has cost as much as asking the index at once. */
const longestShortWalk = 1_000
/** Looking a match up by its id takes about as long as walking over this many records in order. */
const lookupCost = 20
/** Matches that are skipped where each must be looked at. */
const deepestLookedAt = 1_000

/** The page, or null when it can only be found by a long walk. Must run in a transaction. */
export function searchedPage(
  db: DatabaseSync,
  memory: SearchMemory,
  listing: AnyListing,
  at: Position,
): RawPage | null {
  const { of, account, offset } = listing
  const term = listing.search ?? ''
  const records = countRecords(db, of, account)
  const plan = planSearch(term, () => memory.dense.of(db, listing, records))
  const search = { db, listing, term, plan, records }
  const tally = memory.tallies.of(search, at)
  if (tally === null) return null
  const { counted, ids } = tally
  const total = boundedTotal(counted)
  if (total.totalIsExact && offset >= counted) return { rows: [], ...total }
  if (ids !== null) return { rows: pageOfIds(db, listing, ids), ...total }
  if (offset > (plan.isExact ? deepestOffset : deepestLookedAt)) return null
  const rows = pageInOrder(search, counted)
  return rows === null ? null : { rows, ...total }
}

function pageOfIds(db: DatabaseSync, listing: AnyListing, ids: readonly number[]): SQLOutputValue[][] {
  const { of, sortBy, direction, limit, offset } = listing
  const page = `select ${of.columns} from (select value as match from json_each(?)) cross join ${of.table} on id = match
    order by ${orderTerms(of, sortBy, direction)} limit ? offset ?`
  return query(db, page, JSON.stringify(ids), limit, offset)
}

/**
 * Walks over the records in order where matches are frequent. Otherwise matches by id are read from the index, and
 * matches by name are sorted, unless there are too many of them.
 */
function pageInOrder(search: Search, counted: number): SQLOutputValue[][] | null {
  const { sortBy, limit, offset } = search.listing
  const sortable = counted <= countedMatches
  const walk = worthwhileWalk(search, counted)
  const rows = walk > 0 ? walkInOrder(search, walk) : []
  if (walk >= search.records || rows.length === Math.min(limit, sortable ? counted - offset : limit)) return rows
  if (sortBy === 'id') return pageById(search)
  return sortable ? sortedPage(search) : null
}

/** How many records to walk over before another way is taken; 0 for none. */
function worthwhileWalk({ listing, records }: Search, counted: number): number {
  const { sortBy, limit, offset } = listing
  const expected = ((offset + limit) * records) / counted
  const sortable = counted <= countedMatches
  if (sortBy === 'name') return sortable && expected > counted * lookupCost ? 0 : longestWalk
  // Of more than are counted, any number may match.
  return offset + limit <= shortWalk && (!sortable || expected <= shortWalk) ? longestShortWalk : 0
}

/** The page as far as it is among the first `walk` records in order. */
function walkInOrder(search: Search, walk: number): SQLOutputValue[][] {
  const { of, sortBy, direction } = search.listing
  const order = orderTerms(of, sortBy, direction)
  const walked = `select id as walked, ${searchedText(of)} as text from ${tableInOrder(of, sortBy)}
    where account_id = :account order by ${order} limit :walk`
  const matching = `select walked from (${walked}) where instr(text, :term) > 0 limit :limit offset :offset`
  const page = `select ${of.columns} from (${matching}) cross join ${of.table} on id = walked order by ${order}`
  return query(search.db, page, { ...parametersOf(search), walk })
}

function pageById(search: Search): SQLOutputValue[][] {
  const { db, listing, plan } = search
  const { of, direction } = listing
  const range = `order by found.rowid ${direction} limit :limit offset :offset`
  // Where the index alone tells the matches, those before the page are skipped without reading their records.
  const page = plan.isExact
    ? `from (select ${idOf('rowid')} as match from ${inIndex(of)} ${range})
          cross join ${of.table} on id = match order by id ${direction}`
    : `from ${inRecords(of, plan)} ${range}`
  return query(db, `select ${of.columns} ${page}`, parametersOf(search))
}

function sortedPage(search: Search): SQLOutputValue[][] {
  const { db, listing, plan } = search
  const { of, sortBy, direction } = listing
  const sorted = `select ${of.columns} from ${inRecords(of, plan)}
    order by ${orderTerms(of, sortBy, direction)} limit :limit offset :offset`
  return query(db, sorted, parametersOf(search))
}
