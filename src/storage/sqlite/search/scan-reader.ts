import { DatabaseSync } from 'node:sqlite'
import { countedMatches } from '../../port.ts'
import { orderTerms, searchedText, tableInOrder } from '../ordering.ts'
import { plainPage } from '../plain-page.ts'
import { query, queryNumber } from '../prepared.ts'
import { type AnyListing, boundedTotal, type RawPage } from '../raw-page.ts'
import { transact } from '../transact.ts'

const lockTimeoutMs = 1_000

/** Answers any question by walking over the records themselves. */
export class ScanReader {
  readonly #db: DatabaseSync

  constructor(databasePath: string) {
    this.#db = new DatabaseSync(databasePath, { readOnly: true, timeout: lockTimeoutMs })
  }

  answer(listing: AnyListing): RawPage {
    const { search } = listing
    return transact(this.#db, 'deferred', () =>
      search === null ? plainPage(this.#db, listing) : scannedPage(this.#db, listing, search),
    )
  }

  /** There is nothing to keep up with. */
  changed(): void {}

  close(): void {
    this.#db.close()
  }
}

/**
 * The page of the records that contain `term`: each record of the account is looked at until the page is full and the
 * count is known. Must run in a transaction, so that page and total fit each other.
 */
export function scannedPage(db: DatabaseSync, listing: AnyListing, term: string): RawPage {
  const { of, account, sortBy, direction, limit, offset } = listing
  const matching = `account_id = ? and instr(${searchedText(of)}, ?) > 0`
  const counted = `select 1 from ${tableInOrder(of, 'name')} where ${matching} limit ${countedMatches + 1}`
  const total = boundedTotal(queryNumber(db, `select count(*) from (${counted})`, account, term))
  if (total.totalIsExact && offset >= total.total) return { rows: [], ...total }
  const page = `select ${of.columns} from ${tableInOrder(of, sortBy)} where ${matching}
    order by ${orderTerms(of, sortBy, direction)} limit ? offset ?`
  return { rows: query(db, page, account, term, limit, offset), ...total }
}
