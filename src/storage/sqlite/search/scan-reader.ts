import { DatabaseSync } from 'node:sqlite'
import type { AnyListing } from '../../listing.ts'
import { plainPage } from '../plain-page.ts'
import type { RawPage } from '../raw-page.ts'
import { transact } from '../transact.ts'
import type { ReaderOptions } from './lane.ts'
import { matchingPage, recordSources } from './matching-page.ts'

const lockTimeoutMs = 1_000

/** Answers any question from the records themselves, however many have to be looked at. */
export class ScanReader {
  readonly #db: DatabaseSync

  constructor({ databasePath }: ReaderOptions) {
    this.#db = new DatabaseSync(databasePath, { readOnly: true, timeout: lockTimeoutMs })
  }

  answer(listing: AnyListing): RawPage {
    return transact(this.#db, 'deferred', () => scannedPage(this.#db, listing))
  }

  close(): void {
    this.#db.close()
  }
}

/** Must run in a transaction. */
export function scannedPage(db: DatabaseSync, listing: AnyListing): RawPage {
  const { search, filter } = listing
  if (search === null && Object.keys(filter).length === 0) return plainPage(db, listing)
  return matchingPage({ db, listing, sources: recordSources(listing), maxLookedAt: null }) as RawPage
}
