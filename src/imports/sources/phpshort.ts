import type { SourceTable } from '../source-table.ts'

/** The columns of a CSV file, which have translated names. */
export const phpshortColumns = ['short_url', 'url', 'alias', 'title', 'created_at']

export const phpshort: SourceTable = {
  source: 'phpshort',
  isCaseSensitive: false,
  formats: [
    // `reading.ts` recognizes it by the lines above its rows.
    { kind: 'csv', requires: ['/links/export'] },
    { kind: 'json', list: 'data', requires: ['alias', 'url', 'short_url', 'domain'] },
  ],
  fields: {
    address: ['short_url'],
    url: ['url'],
    title: ['title'],
    created_at: ['created_at'],
    active_period_start_at: ['active_period_start_at'],
    active_period_end_at: ['active_period_end_at', 'ends_at'],
    clicks_limit: ['clicks_limit', 'expiration_clicks'],
    expiration_url: ['expiration_url'],
    disabled: ['disabled'],
    clicks: ['clicks'],
  },
  losses: { password: ['redirect_password'], tracking: ['pixels'], rules: ['targets'] },
}
