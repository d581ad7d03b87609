/**
 * What the main thread and the reader threads say to each other.
 */
import type { AnyListing, RawPage } from '../raw-page.ts'
import type { IndexedTables } from './index-file.ts'

/** What a reader thread is started with. */
export interface ReaderOptions {
  /** `index` keeps the search index and answers from it; `scan` answers what takes a walk over many records. */
  readonly kind: 'index' | 'scan'
  readonly databasePath: string
  readonly tables: IndexedTables
}

export type ToReader =
  | { readonly kind: 'question'; readonly id: number; readonly listing: AnyListing }
  /** Something was written. */
  | { readonly kind: 'changed' }
  /** Answer what was asked before, then end. */
  | { readonly kind: 'close' }

export type FromReader =
  /** `page` is null when the other lane has to answer. */
  | { readonly kind: 'answer'; readonly id: number; readonly page: RawPage | null }
  | { readonly kind: 'failed'; readonly id: number; readonly error: unknown }
  /** The search changes up to `seq` are in the index, durably. */
  | { readonly kind: 'indexed'; readonly seq: number }
  /** The index could not be used; searches are slower until it can. */
  | { readonly kind: 'problem'; readonly error: unknown }
