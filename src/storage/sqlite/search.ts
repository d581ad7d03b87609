/**
 * Searches by the trigram index, at a moment when it is at the present of the database.
 */
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import { countedMatches } from '../port.ts'
import { DenseTrigrams } from './dense-trigrams.ts'
import { MatchTotals } from './match-totals.ts'
import { orderTerms, tableInOrder } from './ordering.ts'
import { countRecords, deepestOffset } from './plain-page.ts'
import { query, queryNumber } from './prepared.ts'
import type { AnyListable, AnyListing, RawPage } from './raw-page.ts'
import { boundedTotal } from './scan.ts'
import { highestId, idOf, rowidOf } from './search-file.ts'
import type { Position } from './search-index.ts'
import { planSearch, type SearchPlan } from './search-plan.ts'

/** What helps later searches of the same index. */
export class SearchMemory {
  readonly dense = new DenseTrigrams()
  readonly totals = new MatchTotals()
}

interface Search {
  readonly db: DatabaseSync
  readonly listing: AnyListing
  readonly plan: SearchPlan
  /** The number of the account's records. */
  readonly records: number
}

/** Records that are walked at most in the order of their names. */
const longestWalk = 20_000
/** Looking a match up by its id takes about as long as walking over this many records in order. */
const lookupCost = 4

/** The page, or null when it can only be found by a long walk. Must run in a transaction. */
export function searchedPage(
  db: DatabaseSync,
  memory: SearchMemory,
  listing: AnyListing,
  at: Position,
): RawPage | null {
  const { of, account, search: term = '', offset } = listing
  const records = countRecords(db, of, account)
  const plan = planSearch(String(term), memory.dense.of(db, listing, records))
  const search = { db, listing, plan, records }
  const now = { changes: at.changes, upTo: at[of.table] }
  const counted = memory.totals.total(`${of.table} ${account} ${term}`, now, (after) => countMatches(search, after))
  const total = boundedTotal(counted)
  if (total.totalIsExact && offset >= counted) return { rows: [], ...total }
  if (offset > deepestOffset) return null
  const rows = listing.sortBy === 'id' ? pageById(search) : pageByName(search, counted)
  return rows === null ? null : { rows, ...total }
}

/** Counts the matches among the records with higher ids than `after`, up to one more than is ever stated. */
function countMatches(search: Search, after: number): number {
  const { db, listing, plan } = search
  const matches = plan.isExact ? inIndex(listing.of) : inRecords(listing.of, plan)
  const counted = `select count(*) from (select 1 from ${matches} limit ${countedMatches + 1})`
  return queryNumber(db, counted, { ...parameters(search), after })
}

function pageById(search: Search): SQLOutputValue[][] {
  const { db, listing, plan } = search
  const { of, direction } = listing
  const range = `order by matching.rowid ${direction} limit :limit offset :offset`
  // Where the index alone tells the matches, those before the page are skipped without reading their records.
  const page = plan.isExact
    ? `from (select ${idOf('rowid')} as found from ${inIndex(of)} ${range})
        cross join ${of.table} on id = found order by id ${direction}`
    : `from ${inRecords(of, plan)} ${range}`
  return query(db, `select ${of.columns} ${page}`, parameters(search))
}

/** Walks over the records in the order of their names where matches are frequent, and sorts the matches otherwise. */
function pageByName(search: Search, counted: number): SQLOutputValue[][] | null {
  const { db, listing, plan, records } = search
  const { of, sortBy, direction, limit, offset } = listing
  const sortable = counted <= countedMatches
  const expectedWalk = ((offset + limit) * records) / counted
  if (!sortable || expectedWalk < counted * lookupCost) {
    const walk = Math.min(longestWalk, Math.ceil(expectedWalk * 3))
    const rows = walkByName(search, walk)
    if (walk >= records || rows.length === Math.min(limit, sortable ? counted - offset : limit)) return rows
  }
  if (!sortable) return null
  const sorted = `select ${of.columns} from ${inRecords(of, plan)}
    order by ${orderTerms(of, sortBy, direction)} limit :limit offset :offset`
  return query(db, sorted, parameters(search))
}

/** The page as far as it is among the first `walk` records in order. */
function walkByName(search: Search, walk: number): SQLOutputValue[][] {
  const { of, sortBy, direction } = search.listing
  const order = orderTerms(of, sortBy, direction)
  const walked = `select id as walked, ${of.searchText} as text from ${tableInOrder(of, sortBy)}
    where account_id = :account order by ${order} limit :walk`
  const matching = `select walked from (${walked}) where instr(text, :term) > 0 limit :limit offset :offset`
  const page = `select ${of.columns} from (${matching}) cross join ${of.table} on id = walked order by ${order}`
  return query(search.db, page, { ...parameters(search), walk })
}

/** The matches of the plan in the index, as `matching`. */
function inIndex({ table }: AnyListable): string {
  return `${table}_search as matching where ${inAccount(table)}`
}

/** The matching records themselves; their places in the index go by `matching`. */
function inRecords(of: AnyListable, plan: SearchPlan): string {
  return `${of.table}_search as matching cross join ${of.table} on id = ${idOf('matching.rowid')}
    where ${inAccount(of.table)} ${plan.isExact ? '' : `and instr(${of.searchText}, :term) > 0`}`
}

function inAccount(table: string): string {
  const [first, last] = [rowidOf(':account', '(:after + 1)'), rowidOf(':account', highestId)]
  return `${table}_search match :match and matching.rowid between ${first} and ${last}`
}

function parameters({ listing, plan }: Search) {
  const { account, search: term, limit, offset } = listing
  return { match: plan.match, term, account, after: 0, limit, offset }
}
