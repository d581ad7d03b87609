import { DatabaseSync } from 'node:sqlite'
import { plainPage } from '../plain-page.ts'
import type { AnyListing, RawPage } from '../raw-page.ts'
import { transact } from '../transact.ts'
import { type Found, matchingPage, recordSources } from './matching-page.ts'

const lockTimeoutMs = 1_000

/** Answers any question from the records themselves, however many it takes. */
export class ScanReader {
  readonly #db: DatabaseSync

  constructor(databasePath: string) {
    this.#db = new DatabaseSync(databasePath, { readOnly: true, timeout: lockTimeoutMs })
  }

  answer(listing: AnyListing): RawPage {
    return transact(this.#db, 'deferred', () => scannedPage(this.#db, listing))
  }

  /** There is nothing to keep up with. */
  changed(): void {}

  close(): void {
    this.#db.close()
  }
}

/** Must run in a transaction. */
export function scannedPage(db: DatabaseSync, listing: AnyListing): RawPage {
  const { search, filter = {} } = listing
  if (search === null && Object.keys(filter).length === 0) return plainPage(db, listing)
  const scan = { db, listing, sources: recordSources(listing), maxLookedAt: Number.POSITIVE_INFINITY }
  return (matchingPage(scan) as Found).page
}
