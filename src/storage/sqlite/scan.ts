/**
 * Searches without an index: every record of the account is looked at until the page is full and the count is known.
 */
import type { DatabaseSync } from 'node:sqlite'
import { countedMatches } from '../port.ts'
import { orderTerms, tableInOrder } from './ordering.ts'
import { query, queryNumber } from './prepared.ts'
import type { AnyListing, RawPage } from './raw-page.ts'

/** The page of the records that contain `term`. Must run in a transaction, so that page and total fit each other. */
export function scannedPage(db: DatabaseSync, listing: AnyListing, term: string): RawPage {
  const { of, account, sortBy, direction, limit, offset } = listing
  const matching = `account_id = ? and instr(${of.searchText}, ?) > 0`
  const counted = `select count(*) from (select 1 from ${of.table} where ${matching} limit ${countedMatches + 1})`
  const total = boundedTotal(queryNumber(db, counted, account, term))
  if (total.totalIsExact && offset >= total.total) return { rows: [], ...total }
  const page = `select ${of.columns} from ${tableInOrder(of, sortBy)} where ${matching}
    order by ${orderTerms(of, sortBy, direction)} limit ? offset ?`
  return { rows: query(db, page, account, term, limit, offset), ...total }
}

/** The total that a page states when `counted` matches were found, one more than `countedMatches` at most. */
export function boundedTotal(counted: number): Omit<RawPage, 'rows'> {
  return { total: Math.min(counted, countedMatches), totalIsExact: counted <= countedMatches }
}
