import type { DatabaseSync } from 'node:sqlite'
import { foldCase } from '../fold.ts'
import type { Listing, Page } from '../port.ts'
import { shallowPage } from './plain-page.ts'
import { toPage } from './raw-page.ts'
import type { Readers } from './search/readers.ts'

/**
 * One page: read on `db` at once where that takes microseconds, by the threads of `readers` otherwise. The threads see
 * what is committed; only pages that `db` reads contain what its open transaction wrote.
 */
export async function listOn<Row>(db: DatabaseSync, readers: Readers, asked: Listing<Row>): Promise<Page<Row>> {
  const search = asked.search === null ? null : foldCase(asked.search)
  const listing = { ...asked, search }
  const page = search === null ? shallowPage(db, listing) : null
  return page === null ? readers.list(listing) : toPage(listing.of, page)
}
