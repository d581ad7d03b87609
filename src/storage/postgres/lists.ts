import type { ClientBase } from 'pg'
import { foldCase } from '../fold.ts'
import type { Listing, Page } from '../port.ts'
import type { AnyListing } from './lists-sql.ts'
import { isDeep, plainPage } from './plain-page.ts'
import type { RareParts } from './rare-parts.ts'
import { searchedPage } from './searched-page.ts'

/** One page, in one or two statements. */
export function listOn<Row>(client: ClientBase, asked: Listing<Row>, rareParts: RareParts): Promise<Page<Row>> {
  if (asked.search === null) return plainPage(client, asked)
  return searchedPage(client, asked, foldCase(asked.search), rareParts)
}

/** Whether the page may take many times as long as reading a record: it is searched for, or lies deep in its list. */
export function mayTakeLong(asked: AnyListing): boolean {
  return asked.search !== null || isDeep(asked)
}
