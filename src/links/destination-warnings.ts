/** Likely mistakes in the destinations of a stored link. The link is valid, because the destination may exist later. */
import { Ticks } from '../lib/ticks.ts'
import { withoutRootDot } from '../names/host-name.ts'
import { matchesShortUrl, type ShortUrl } from '../names/short-url.ts'
import { mistypedTopLevel } from '../names/top-level.ts'
import { isWebUrl } from '../names/web-url.ts'
import type { Db } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import { findLinkByShortUrl } from './link-list.ts'
import { destinationsIn, type LinkRow, type WithDestinations } from './schema.ts'

/** `last` is the label after the last dot of the host, in ASCII. */
export type DestinationWarning =
  | { readonly kind: 'unknown_top_level'; readonly host: string; readonly last: string }
  | { readonly kind: 'own_short_link'; readonly shortUrl: string }

/** Warnings that people still read. */
const maxWarnings = 5

/** Returns the first warnings about the destinations of the account's link, at most one for each host and short URL. */
export async function destinationWarnings(
  db: Db,
  account: number,
  link: WithDestinations & Pick<LinkRow, 'expiration_url'>,
  shortUrl: ShortUrl,
): Promise<DestinationWarning[]> {
  const all = [...destinationsIn(link).map(({ url }) => url), link.expiration_url ?? '']
  const hosts = new Map(all.filter(isWebUrl).map((url) => [url, URL.parse(url)?.hostname ?? '']))
  const domains = await domainsAmong(db, account, [...new Set(hosts.values())])
  const warnings = new Map<string, DestinationWarning>()
  const ticks = new Ticks()
  for (const [url, host] of hosts) {
    if (warnings.size === maxWarnings) break
    const own = domains.has(withoutRootDot(host)) ? await ownShortUrl(db, account, url, shortUrl) : null
    const last = own === null && !warnings.has(host) ? mistypedTopLevel(host) : null
    if (own !== null) warnings.set(own, { kind: 'own_short_link', shortUrl: own })
    else if (last !== null) warnings.set(host, { kind: 'unknown_top_level', host, last })
    await ticks.next()
  }
  return [...warnings.values()]
}

/** Returns the names of the account's domains among these hosts. */
async function domainsAmong(db: Db, account: number, hosts: readonly string[]): Promise<ReadonlySet<string>> {
  if (hosts.length === 0) return new Set()
  const own = query.selectFrom('domains').select('name').where('account_id', '=', account)
  const found = await db.execute(own.where('name', 'in', hosts.map(withoutRootDot)))
  return new Set(found.map(({ name }) => name))
}

/** Returns the short URL of the account's link to which a URL redirects; null for other URLs. */
async function ownShortUrl(db: Db, account: number, url: string, shortUrl: ShortUrl): Promise<string | null> {
  const link = await findLinkByShortUrl(db, account, url)
  const own = link && shortUrl(link.domain_name ?? '', link.alias)
  // Another server may use another port of the same host.
  return own !== undefined && matchesShortUrl(url, own) ? own : null
}
