import type { SourceTable } from '../source-table.ts'

export const shortIo: SourceTable = {
  source: 'short_io',
  isCaseSensitive: false,
  formats: [
    { kind: 'csv', requires: ['shortURL|shortURLs', 'originalURL|originalURLs'] },
    { kind: 'json', list: 'links', requires: ['originalURL', 'path', 'shortURL'] },
  ],
  fields: {
    address: ['shortURL', 'shortURLs'],
    url: ['originalURL', 'originalURLs'],
    title: ['title'],
    tags: ['tags'],
    created_at: ['createdAt'],
    active_period_end_at: ['expiresAt'],
    expiration_url: ['expiredURL'],
    clicks_limit: ['clicksLimit'],
    archived: ['archived'],
    redirect_status: ['redirectType'],
    forward_query: [['skipQS', (skips) => (/^(?:false|0)$/i.test(String(skips)) ? true : null)]],
    clicks: ['clicks'],
  },
  losses: {
    password: ['hasPassword'],
    rules: ['iphoneURL', 'androidURL', 'splitURL'],
    tracking: ['integration*'],
    cloaking: ['cloaking'],
  },
}
