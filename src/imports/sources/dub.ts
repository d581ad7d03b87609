import type { SourceTable } from '../source-table.ts'

export const dub: SourceTable = {
  source: 'dub',
  isCaseSensitive: false,
  formats: [
    { kind: 'csv', requires: ['Short link', 'Destination URL'] },
    { kind: 'json', list: '', requires: ['domain', 'key', 'url'] },
  ],
  fields: {
    address: ['Short link'],
    host: ['domain'],
    alias: [['key', (key) => (key === '_root' ? '/' : key)]],
    url: ['Destination URL', 'url'],
    title: ['title'],
    notes: ['comments'],
    tags: ['tags'],
    created_at: ['Created at', 'createdAt'],
    active_period_end_at: ['Expires at', 'expiresAt'],
    expiration_url: ['expiredUrl'],
    redirect_password: ['password'],
    archived: ['archived'],
    clicks: ['clicks'],
  },
  losses: {
    rules: ['geo', 'ios', 'android', 'testVariants'],
    tracking: ['leads', 'conversions', 'Revenue', 'sales', 'saleAmount'],
    preview_card: ['proxy'],
    cloaking: ['rewrite'],
  },
}
