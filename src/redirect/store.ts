/** Domains and links as visitors see them, of all accounts: the host name decides, and visitors have no key. */

import { sql } from 'kysely'
import { foldCase } from '../lib/text.ts'
import type { Lifetime } from '../links/link.ts'
import { type AppLinks, noAppLinks } from '../names/app-links.ts'
import { type ReadyRules, readyRules } from '../rules/decide.ts'
import { parseRules, ruleDestinations } from '../rules/rule.ts'
import type { Db } from '../storage/port.ts'
import { CachedQuery, query, type Row } from '../storage/schema.ts'
import { type PreparedRedirect, prepareRedirect } from './redirects.ts'

const domainColumns = ['id', 'name', 'homepage_url', 'not_found_url', 'updated_at'] as const

export interface ServedDomain extends Readonly<Pick<Row<'domains'>, (typeof domainColumns)[number]>> {
  /** 1 if the domain has a file of apps, otherwise 0. */
  readonly has_app_links: number
}

/** Returns a stored domain as visitors see it. */
export function prepareDomain({
  id,
  name,
  homepage_url,
  not_found_url,
  updated_at,
  ...files
}: Pick<Row<'domains'>, (typeof domainColumns)[number] | keyof AppLinks>): ServedDomain {
  const hasFile = files.apple_app_site_association !== null || files.asset_links !== null
  return { id, name, homepage_url, not_found_url, updated_at, has_app_links: Number(hasFile) }
}

/** A link as the redirect server needs it. */
export interface ServedLink extends Lifetime {
  readonly id: number
  /** The id of the address at which the link was found; null if it was found by its id. */
  readonly addressId: number | null
  /** The alias of that address. */
  readonly alias: string
  /** The clicks when the link was read. Becomes `clicks_limit` when the limit is found to be reached. 0 without a limit. */
  clicks: number
  readonly expiration_url: string | null
  readonly redirect_password: string | null
  readonly forward_query: boolean
  /** The redirects to all destinations: first the link's URL, then those of its rules in their order. */
  readonly destinations: readonly [PreparedRedirect, ...PreparedRedirect[]]
  /** Null for most links. */
  readonly rules: ReadyRules | null
  readonly account_id: number
}

const clicks = sql<number>`case when clicks_limit is null then 0
  else (select clicks from link_clicks where link_id = links.id) end`

/** Rules depend on the time zone of the account. */
const timeZones = sql<string | null>`case when rules is null then null
  else (select time_zones from accounts where id = links.account_id) end`

const links = query
  .selectFrom('links')
  .selectAll()
  .select([clicks.as('clicks'), timeZones.as('time_zones')])

type FoundLink = Row<'links'> & { readonly clicks: number; readonly time_zones: string | null }
type VisitedLink = FoundLink & {
  readonly address_id: number
  readonly visited: string
  readonly is_exact: number
}
// Domains that are being removed belong to account 0.
const allDomains = query.selectFrom('domains').where('account_id', '<>', 0)
const hasAppLinks = sql<number>`case when coalesce(apple_app_site_association, asset_links) is null then 0 else 1 end`
const domains = allDomains.select(domainColumns).select(hasAppLinks.as('has_app_links'))

/** What an alias reaches on a domain. */
export interface FoundAddress {
  readonly link: ServedLink | null
  /** Whether every spelling of the alias reaches the same. */
  readonly ignoresCase: boolean
}

/** Finds what an alias in NFC reaches on a domain: the exact address with this spelling, or the one that ignores case. */
export async function findServedLink(db: Db, domain: number, alias: string): Promise<FoundAddress> {
  const folded = foldCase(alias)
  // Each part has the condition of an index.
  const build = () => {
    const ofSpelling = (exact: 0 | 1) =>
      query
        .selectFrom('addresses')
        .select(['link_id', 'id as address_id', 'alias as visited', 'exact as is_exact'])
        .where('domain_id', '=', domain)
        .where('alias_folded', '=', folded)
        .where('exact', '=', sql.lit(exact))
    return query
      .selectFrom(ofSpelling(0).unionAll(ofSpelling(1)).as('addresses'))
      .innerJoin('links', 'links.id', 'addresses.link_id')
      .selectAll('links')
      .select(['address_id', 'visited', 'is_exact', clicks.as('clicks'), timeZones.as('time_zones')])
      .orderBy(sql`case when is_exact = 0 then 1 when visited = ${alias} then 0 else 2 end`)
      .limit(2)
  }
  const parameters = [domain, folded, domain, folded, alias, 2]
  const rows = await db.execute(new CachedQuery<VisitedLink>('visited link', parameters, build))
  const [row] = rows
  const isFound = row !== undefined && (row.is_exact === 0 || row.visited === alias)
  return {
    link: isFound ? servedLink({ ...row, alias: row.visited }, row.address_id) : null,
    ignoresCase: rows.length === 0 || (rows.length === 1 && row?.is_exact === 0),
  }
}

/** Finds the account's link with this id, and its domain. */
export async function findServedLinkById(db: Db, account: number, id: number) {
  const [row] = await db.execute(links.where('id', '=', id).where('account_id', '=', account))
  const [domain] = row === undefined ? [] : await servedDomains(db, [row.domain_id])
  return row === undefined || domain === undefined ? undefined : { link: servedLink(row), domain }
}

function servedLink(row: FoundLink, addressId: number | null = null): ServedLink {
  const { redirect_status: status } = row
  const ofRules = ruleDestinations(parseRules(row)).map(({ url }) => prepareRedirect(url, status))
  return {
    id: row.id,
    addressId,
    alias: row.alias,
    disabled: row.disabled === 1,
    active_period_start_at: row.active_period_start_at,
    active_period_end_at: row.active_period_end_at,
    clicks_limit: row.clicks_limit,
    clicks: row.clicks,
    expiration_url: row.expiration_url,
    redirect_password: row.redirect_password,
    forward_query: row.forward_query === 1,
    destinations: [prepareRedirect(row.url, status), ...ofRules],
    rules: readyRules(row.rules, row.time_zones ?? ''),
    account_id: row.account_id,
  }
}

/** Returns whether a link has reached its limit. */
export async function isUsedUp(db: Db, { id, clicks_limit }: ServedLink): Promise<boolean> {
  if (clicks_limit === null) return false
  const totals = query.selectFrom('link_clicks').select('clicks').where('link_id', '=', id)
  const [row] = await db.execute(totals)
  return row !== undefined && row.clicks >= clicks_limit
}

/** Lists served domains with ids above `after`, in the order of ids; `limit` at most. */
export function servedDomainsAfter(db: Db, after: number, limit: number): Promise<ServedDomain[]> {
  return db.execute(domains.where('id', '>', after).orderBy('id').limit(limit))
}

export async function findServedDomain(db: Db, name: string): Promise<ServedDomain | undefined> {
  return (await db.execute(domains.where('name', '=', name)))[0]
}

export function servedDomains(db: Db, ids: readonly number[]): Promise<ServedDomain[]> {
  return db.execute(new CachedQuery(`${ids.length} served domains`, [0, ...ids], () => domains.where('id', 'in', ids)))
}

/** Finds the files of apps of a domain. */
export async function findAppLinks(db: Db, { id }: ServedDomain): Promise<AppLinks> {
  const files = allDomains.select(['apple_app_site_association', 'asset_links']).where('id', '=', id)
  return (await db.execute(files))[0] ?? noAppLinks
}
