/**
 * Pages that are a walk along one index. Triggers keep the total of an account's records.
 */
import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import { countedMatches } from '../port.ts'
import { type Direction, opposite, orderTerms, parametersOf, recordsById, tableInOrder } from './ordering.ts'
import { prepare, query, queryNumber, rowsOf } from './prepared.ts'
import { type AnyListable, type AnyListing, boundedTotal, type RawPage } from './raw-page.ts'

/** Records that a page may skip on the event loop: well below a millisecond of work. */
export const deepestOffset = 10_000

/** The page of a listing without a search; null when it is too much work for the event loop. */
export function shallowPage(db: DatabaseSync, listing: AnyListing): RawPage | null {
  const { limit, offset, filter = {}, after = null } = listing
  const filters = Object.keys(filter)
  if (after !== null || filters.length > 0) return narrowedPage(db, listing, filters)
  if (offset <= deepestOffset) return pageFromStart(db, listing)
  const total = countRecords(db, listing.of, listing.account)
  if (offset >= total) return { rows: [], total, totalIsExact: true }
  return total - offset - limit <= deepestOffset ? pageFromEnd(db, listing) : null
}

/** The page of a listing without a search or a filter, however deep it lies. */
export function plainPage(db: DatabaseSync, listing: AnyListing): RawPage {
  const total = countRecords(db, listing.of, listing.account)
  return listing.offset > total / 2 ? pageFromEnd(db, listing) : pageFromStart(db, listing)
}

/** A page of what a filter or `after` leaves; null unless one index has it in order and near. */
function narrowedPage(db: DatabaseSync, listing: AnyListing, [column, ...others]: string[]): RawPage | null {
  const { of, account, sortBy, direction, offset } = listing
  if (others.length > 0 || sortBy !== 'id' || offset > deepestOffset) return null
  const values = parametersOf(listing)
  const records = recordsById(of, column)
  const page = `select ${of.columns} from ${records} and id between :low and :high
    order by id ${direction} limit :limit + 0 offset :offset + 0`
  const counted = `select count(*) from (select 1 from ${records} limit ${countedMatches + 1})`
  const total =
    column === undefined
      ? { total: countRecords(db, of, account), totalIsExact: true }
      : boundedTotal(queryNumber(db, counted, values))
  return { rows: query(db, page, values), ...total }
}

/** The number of an account's records. */
export function countRecords(db: DatabaseSync, of: AnyListable, account: number): number {
  return queryNumber(db, `select ${totalOf(of)}`, account)
}

function pageFromStart(db: DatabaseSync, listing: AnyListing): RawPage {
  const { of, account, sortBy, direction, limit, offset } = listing
  const rows = rowsOf((walksOf(db, of).fromStart[sortBy] as Walk)[direction], account, limit, offset)
  return rows.length > 0 ? withTotal(rows) : emptyPage(db, listing)
}

function pageFromEnd(db: DatabaseSync, listing: AnyListing): RawPage {
  const { of, account, sortBy, direction, limit, offset } = listing
  const rows = rowsOf((walksOf(db, of).fromEnd[sortBy] as Walk)[opposite(direction)], account, offset, offset + limit)
  return rows.length > 0 ? withTotal(rows.reverse()) : emptyPage(db, listing)
}

function emptyPage(db: DatabaseSync, listing: AnyListing): RawPage {
  const total = countRecords(db, listing.of, listing.account)
  // Another process may have stored records between the two statements.
  if (total > listing.offset && listing.limit > 0) return pageFromStart(db, listing)
  return { rows: [], total, totalIsExact: true }
}

/** Takes off the rows the total that each of them ends with. */
function withTotal(rows: SQLOutputValue[][]): RawPage {
  let total = 0
  for (const row of rows) total = Number(row.pop())
  return { rows, total, totalIsExact: true }
}

type Walk = Record<Direction, StatementSync>
type Walks = Record<'fromStart' | 'fromEnd', Readonly<Record<string, Walk>>>

const knownWalks = new WeakMap<DatabaseSync, WeakMap<AnyListable, Walks>>()

/** The statements of a table, found without putting their texts together again. */
function walksOf(db: DatabaseSync, of: AnyListable): Walks {
  const known = knownWalks.get(db) ?? new WeakMap<AnyListable, Walks>()
  const found = known.get(of) ?? prepareWalks(db, of)
  known.set(of, found)
  knownWalks.set(db, known)
  return found
}

function prepareWalks(db: DatabaseSync, of: AnyListable): Walks {
  // ?1 account. From the start: ?2 limit, ?3 offset. From the end: ?2 first and ?3 last position, not included; where
  // they lie from the other end depends on the total, which must be that of the same moment.
  const start = 'limit ?2 + 0 offset ?3 + 0'
  const end = `limit max(0, min(${totalOf(of)}, ?3) - ?2) offset max(0, ${totalOf(of)} - ?3)`
  const walks = (range: string) => {
    const walk = (sortBy: string, direction: Direction) =>
      prepare(
        db,
        `select ${of.columns}, ${totalOf(of)} from ${tableInOrder(of, sortBy)} where account_id = ?1
          order by ${orderTerms(of, sortBy, direction)} ${range}`,
      )
    const sorts = ['id', ...Object.keys(of.sorts)]
    return Object.fromEntries(sorts.map((sortBy) => [sortBy, { asc: walk(sortBy, 'asc'), desc: walk(sortBy, 'desc') }]))
  }
  return { fromStart: walks(start), fromEnd: walks(end) }
}

/** An expression; the account is parameter 1. */
function totalOf(of: AnyListable): string {
  return `coalesce((select total from record_counts where account_id = ?1 and resource = '${of.table}'), 0)`
}
