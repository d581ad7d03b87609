/** Domains and links as visitors see them, of all accounts: the host name decides, and visitors have no key. */
import { sql } from 'kysely'
import type { Lifetime } from '../links/link.ts'
import type { Db } from '../storage/port.ts'
import { CachedQuery, query, type Row } from '../storage/schema.ts'
import { type PreparedRedirect, prepareRedirect } from './redirects.ts'

const domainColumns = ['id', 'name', 'homepage_url', 'not_found_url'] as const

export type ServedDomain = Readonly<Pick<Row<'domains'>, (typeof domainColumns)[number]>>

/** A link as the redirect server needs it. */
export interface ServedLink extends Lifetime {
  readonly id: number
  readonly alias: string
  /** The clicks when the link was read. Becomes `clicks_limit` when the limit is found to be reached. 0 without a limit. */
  clicks: number
  readonly expiration_url: string | null
  readonly redirect_password: string | null
  readonly forward_query: boolean
  readonly redirect: PreparedRedirect
}

const clicks = sql<number>`case when clicks_limit is null then 0
  else (select clicks from link_clicks where link_id = links.id) end`

const links = query.selectFrom('links').selectAll().select(clicks.as('clicks'))
// Domains that are being removed belong to account 0.
const domains = query.selectFrom('domains').select(domainColumns).where('account_id', '<>', 0)

/** Finds the domain's link with this folded alias. */
export async function findServedLink(db: Db, domain: number, alias: string): Promise<ServedLink | null> {
  const build = () => links.where('domain_id', '=', domain).where('alias_folded', '=', alias)
  const found = new CachedQuery<Row<'links'> & { clicks: number }>('visited link', [domain, alias], build)
  const [row] = await db.execute(found)
  if (row === undefined) return null
  return {
    id: row.id,
    alias: row.alias,
    disabled: row.disabled === 1,
    active_period_start_at: row.active_period_start_at,
    active_period_end_at: row.active_period_end_at,
    clicks_limit: row.clicks_limit,
    clicks: row.clicks,
    expiration_url: row.expiration_url,
    redirect_password: row.redirect_password,
    forward_query: row.forward_query === 1,
    redirect: prepareRedirect(row.url, row.redirect_status),
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

export function servedDomains(db: Db, ids: readonly number[]): Promise<ServedDomain[]> {
  return db.execute(domains.where('id', 'in', ids))
}
