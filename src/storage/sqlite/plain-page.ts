/**
 * Pages that are a walk along one index. Triggers keep the total of an account's records.
 */
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import {
  type AnyListable,
  type AnyListing,
  boundedTotal,
  type Direction,
  opposite,
  selected,
  walkOf,
} from '../listing.ts'
import { countedMatches } from '../port.ts'
import { parametersOf, recordsById, recordsInOrder, tableInOrder } from './ordering.ts'
import { query, queryNumber } from './prepared.ts'
import type { RawPage } from './raw-page.ts'

/** Records that a page may skip on the event loop: well below a millisecond of work. */
const deepestOffset = 10_000

/** The page of a listing without a search; null when it is too much for the event loop. Must run in a transaction. */
export function shallowPage(db: DatabaseSync, listing: AnyListing): RawPage | null {
  const { of, account, limit, offset, filter, after } = listing
  const filters = Object.keys(filter)
  if (after !== null || filters.length > 0) return narrowedPage(db, listing, filters)
  if (offset <= deepestOffset) return pageFromStart(db, listing)
  const total = countRecords(db, of, account)
  return total - offset - limit <= deepestOffset ? pageFromEnd(db, listing, total) : null
}

/** The page of a listing without a search or a filter, however deep it lies. Must run in a transaction. */
export function plainPage(db: DatabaseSync, listing: AnyListing): RawPage {
  const total = countRecords(db, listing.of, listing.account)
  return listing.offset > total / 2 ? pageFromEnd(db, listing, total) : pageFromStart(db, listing)
}

/** A page of what a filter or `after` leaves; null unless one index has it in order and near. */
function narrowedPage(db: DatabaseSync, listing: AnyListing, [column, ...others]: string[]): RawPage | null {
  const { of, account, sortBy, direction, offset } = listing
  if (others.length > 0 || sortBy !== 'id' || offset > deepestOffset) return null
  const values = parametersOf(listing)
  const records = recordsById(of, column)
  const page = `select ${selected(of)} from ${records} and id between :low and :high
    order by id ${direction} limit :limit + 0 offset :offset + 0`
  const counted = `select count(*) from (select 1 from ${records} limit ${countedMatches + 1})`
  const total =
    column === undefined
      ? { total: countRecords(db, of, account), totalIsExact: true }
      : boundedTotal(queryNumber(db, counted, values))
  return { rows: query(db, page, values), ...total }
}

/** The number of an account's records. */
function countRecords(db: DatabaseSync, of: AnyListable, account: number): number {
  return queryNumber(db, `select ${totalOf(of)}`, account)
}

/** Each row ends with the total, which saves a second statement. */
function pageFromStart(db: DatabaseSync, listing: AnyListing): RawPage {
  const { of, account, direction, limit, offset } = listing
  const rows = walk(db, listing, direction, limit, offset)
  const total = rows.length > 0 ? Number(rows[0]?.at(-1)) : countRecords(db, of, account)
  return { rows, total, totalIsExact: true }
}

function pageFromEnd(db: DatabaseSync, listing: AnyListing, total: number): RawPage {
  const { direction, limit, offset } = listing
  const end = Math.min(total, offset + limit)
  const rows = walk(db, listing, opposite(direction), Math.max(0, end - offset), total - end)
  return { rows: rows.reverse(), total, totalIsExact: true }
}

function walk(
  db: DatabaseSync,
  listing: AnyListing,
  direction: Direction,
  limit: number,
  offset: number,
): SQLOutputValue[][] {
  const rows = `${tableInOrder(walkOf(listing))} where account_id = ?1`
  const range = 'limit ?2 + 0 offset ?3 + 0'
  const sql = recordsInOrder(listing, direction, { rows, range, more: [totalOf(listing.of)] })
  return query(db, sql, listing.account, limit, offset)
}

/** An expression; the account is parameter 1. */
function totalOf(of: AnyListable): string {
  return `coalesce((select total from record_counts where account_id = ?1 and resource = '${of.table}'), 0)`
}
