import type { ClientBase } from 'pg'
import type { AnyListing } from '../listing.ts'
import type { Listing, Page } from '../port.ts'
import { matchingPage } from './matching-page.ts'
import { isDeep, plainPage } from './plain-page.ts'
import type { RareParts } from './rare-parts.ts'

/** One page, in one to three statements. */
export function listOn<Row>(client: ClientBase, listing: Listing<Row>, rareParts: RareParts): Promise<Page<Row>> {
  return isSelective(listing) ? matchingPage(client, listing, rareParts) : plainPage(client, listing)
}

/** Whether the page may take many times as long as reading a record. */
export function mayTakeLong(listing: AnyListing): boolean {
  return isSelective(listing) || isDeep(listing)
}

/** Whether the listing searches or filters. */
function isSelective(listing: AnyListing): boolean {
  return listing.search !== null || Object.keys(listing.filter).length > 0
}
