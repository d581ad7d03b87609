/**
 * What the listener for visitors reads of domains and links; `store.ts` says what it is for.
 */
import { type Kysely, sql } from 'kysely'
import { statement } from '../storage/statement.ts'

/** A domain that is served. */
export interface DomainRow {
  readonly id: number
  readonly name: string
  readonly homepage_url: string | null
  readonly not_found_url: string | null
}

/** A link, as far as its visitors notice it. */
export interface LinkRow {
  readonly id: number
  readonly domain_id: number
  readonly alias: string
  readonly url: string
  readonly title: string | null
  readonly disabled: number
  readonly active_period_start_at: string | null
  readonly active_period_end_at: string | null
  readonly clicks_limit: number | null
  /** 0 where there is no limit. */
  readonly clicks: number
  readonly expiration_url: string | null
  readonly redirect_password: string | null
  readonly forward_query: number
  readonly redirect_status: number
}

type Tables = {
  domains: DomainRow & { account_id: number }
  links: Omit<LinkRow, 'clicks'> & { alias_folded: string }
}

const domainColumns = ['id', 'name', 'homepage_url', 'not_found_url'] as const
const linkColumns = [
  ...(['id', 'domain_id', 'alias', 'url', 'title', 'disabled', 'active_period_start_at'] as const),
  ...(['active_period_end_at', 'clicks_limit', 'expiration_url', 'redirect_password'] as const),
  ...(['forward_query', 'redirect_status'] as const),
]
const clicks = sql<number>`case when clicks_limit is null then 0
  else (select clicks from link_clicks where link_id = links.id) end`

export const linkByAlias = statement((db: Kysely<Tables>, { domain, alias }: { domain: number; alias: string }) =>
  db
    .selectFrom('links')
    .select([...linkColumns, clicks.as('clicks')])
    .where('domain_id', '=', domain)
    .where('alias_folded', '=', alias),
)

/** Of account 0 are the domains that are being removed. */
export const domainsByIdAfter = statement((db: Kysely<Tables>, { after, limit }: { after: number; limit: number }) =>
  db
    .selectFrom('domains')
    .select(domainColumns)
    .where('id', '>', after)
    .where('account_id', '<>', 0)
    .orderBy('id')
    .limit(limit),
)

export const domainById = statement((db: Kysely<Tables>, { id }: { id: number }) =>
  db.selectFrom('domains').select(domainColumns).where('id', '=', id).where('account_id', '<>', 0),
)
