import { DatabaseSync } from 'node:sqlite'
import { plainPage } from './plain-page.ts'
import type { AnyListing, RawPage } from './raw-page.ts'
import { scannedPage } from './scan.ts'
import { transact } from './transact.ts'

const lockTimeoutMs = 1_000

/** Answers any question by walking over the records themselves. */
export class ScanReader {
  readonly #db: DatabaseSync

  constructor(databasePath: string) {
    this.#db = new DatabaseSync(databasePath, { readOnly: true, timeout: lockTimeoutMs })
    this.#db.exec('pragma cache_size = -8000')
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
