/** Domains and links as visitors see them, of all accounts: the host name decides, and visitors have no key. */
import { sql } from 'kysely'
import type { Db } from '../storage/port.ts'
import { query, type Row } from '../storage/schema.ts'

const domainColumns = ['id', 'name', 'homepage_url', 'not_found_url'] as const
const linkColumns = [
  'id',
  'domain_id',
  'alias',
  'url',
  'title',
  'disabled',
  'active_period_start_at',
  'active_period_end_at',
  'clicks_limit',
  'expiration_url',
  'redirect_password',
  'forward_query',
  'redirect_status',
] as const

/** A domain that is served. */
export type ServedDomain = Readonly<Pick<Row<'domains'>, (typeof domainColumns)[number]>>

/** The parts of a link that visitors notice. `clicks` is 0 if there is no limit. */
export type LinkRow = Readonly<Pick<Row<'links'>, (typeof linkColumns)[number]>> & { readonly clicks: number }

const clicks = sql<number>`case when clicks_limit is null then 0
  else (select clicks from link_clicks where link_id = links.id) end`

const links = query.selectFrom('links').select([...linkColumns, clicks.as('clicks')])
// Domains that are being removed belong to account 0.
const domains = query.selectFrom('domains').select(domainColumns).where('account_id', '<>', 0)

/** Finds the domain's link with this folded alias. */
export async function findLink(db: Db, domain: number, alias: string): Promise<LinkRow | undefined> {
  const [link] = await db.execute(links.where('domain_id', '=', domain).where('alias_folded', '=', alias))
  return link
}

/** Lists served domains with ids above `after`, in the order of ids; `limit` at most. */
export function servedDomainsAfter(db: Db, after: number, limit: number): Promise<ServedDomain[]> {
  return db.execute(domains.where('id', '>', after).orderBy('id').limit(limit))
}

/** Lists the domains with these ids that are served. */
export async function servedDomains(db: Db, ids: readonly number[]): Promise<ServedDomain[]> {
  return ids.length === 0 ? [] : db.execute(domains.where('id', 'in', ids))
}
