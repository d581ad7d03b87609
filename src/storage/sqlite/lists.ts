import type { DatabaseSync } from 'node:sqlite'
import { foldCase } from '../../lib/fold-case.ts'
import type { Listing, Page } from '../port.ts'
import { shallowPage } from './plain-page.ts'
import { toPage } from './raw-page.ts'
import type { Readers } from './search/readers.ts'

/** Runs its argument in a transaction. */
type ReadOn = <T>(work: (db: DatabaseSync) => T) => T | Promise<T>

/** One page: read by `readOn` where that takes microseconds, by the threads of `readers` otherwise. */
export async function listOn<Row>(readOn: ReadOn, readers: Readers, asked: Listing<Row>): Promise<Page<Row>> {
  if (asked.search !== null) return readers.list({ ...asked, search: foldCase(asked.search) })
  const page = await readOn((db) => shallowPage(db, asked))
  return page === null ? readers.list(asked) : toPage(asked.of, page)
}
