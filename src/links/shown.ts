import { hash } from 'node:crypto'
import { shownVersion } from '../http/conditions.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { Versioned } from '../storage/version.ts'
import { statusOf } from './link.ts'
import type { Link } from './schema.ts'
import type { LinkRow } from './store.ts'

/** The link as the API answers it at the time `now`. */
export function linkOf(row: LinkRow, shortUrl: ShortUrl, now = new Date().toISOString()): Link {
  const lifetime = { ...row, disabled: row.disabled === 1 }
  return {
    id: row.id,
    domain_id: row.domain_id,
    space_id: row.space_id,
    alias: row.alias,
    short_url: shortUrl(row.domain_name ?? '', row.alias),
    url: row.url,
    title: row.title,
    status: statusOf(lifetime, now),
    disabled: lifetime.disabled,
    active_period_start_at: row.active_period_start_at,
    active_period_end_at: row.active_period_end_at,
    clicks_limit: row.clicks_limit,
    expiration_url: row.expiration_url,
    has_redirect_password: row.redirect_password !== null,
    forward_query: row.forward_query === 1,
    redirect_status: row.redirect_status as Link['redirect_status'],
    clicks: row.clicks,
    last_clicked_at: lastClickedAt(row),
    created_at: row.created_at,
    updated_at: row.updated_at,
  }
}

/** When a person last followed the link, as RFC 3339 in UTC with milliseconds. */
export function lastClickedAt({ last_clicked_ms }: Pick<LinkRow, 'last_clicked_ms'>): string | null {
  return last_clicked_ms === null ? null : new Date(last_clicked_ms).toISOString()
}

/** The link as the API answers it, with a version that moves with all that it shows: with clicks and with time, too. */
export function shownLink({ record, version }: Versioned<LinkRow>, shortUrl: ShortUrl): Versioned<Link> {
  const link = linkOf(record, shortUrl)
  return { record: link, version: shownVersion(version, hash('sha1', JSON.stringify(link), 'base64url').slice(0, 12)) }
}
