/** Likely mistakes in the destinations of a stored link. The link is valid, because the destination may exist later. */

import { matchesShortUrl, type ShortUrl } from '../names/short-url.ts'
import { mistypedTopLevel } from '../names/top-level.ts'
import { isWebUrl } from '../names/web-url.ts'
import type { Db } from '../storage/port.ts'
import { findLinkByShortUrl } from './link-list.ts'
import { destinationsIn, type LinkRow, type WithDestinations } from './schema.ts'

/** `last` is the label after the last dot of the host, in ASCII. */
export type DestinationWarning =
  | { readonly kind: 'unknown_top_level'; readonly host: string; readonly last: string }
  | { readonly kind: 'own_short_link'; readonly shortUrl: string }

/** Returns the warnings about the destinations of the account's link, at most one for each destination. */
export async function destinationWarnings(
  db: Db,
  account: number,
  link: WithDestinations & Pick<LinkRow, 'expiration_url'>,
  shortUrl: ShortUrl,
): Promise<DestinationWarning[]> {
  const urls = [
    ...destinationsIn(link).map(({ url }) => url),
    ...(link.expiration_url === null ? [] : [link.expiration_url]),
  ]
  const found = await Promise.all([...new Set(urls)].map((each) => warningFor(db, account, each, shortUrl)))
  return found.filter((warning) => warning !== null)
}

async function warningFor(
  db: Db,
  account: number,
  url: string,
  shortUrl: ShortUrl,
): Promise<DestinationWarning | null> {
  if (!isWebUrl(url)) return null
  const host = URL.parse(url)?.hostname ?? ''
  const last = mistypedTopLevel(host)
  const link = await findLinkByShortUrl(db, account, url)
  const own = link && shortUrl(link.domain_name ?? '', link.alias)
  // Another server may use another port of the same host.
  if (own !== undefined && matchesShortUrl(url, own)) return { kind: 'own_short_link', shortUrl: own }
  return last === null ? null : { kind: 'unknown_top_level', host, last }
}
