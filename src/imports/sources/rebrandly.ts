import type { SourceTable } from '../source-table.ts'

export const rebrandly: SourceTable = {
  source: 'rebrandly',
  // Nobody documents it. Two spellings of an alias stay different this way.
  isCaseSensitive: true,
  formats: [
    { kind: 'csv', requires: ['slashtag', 'destination'] },
    { kind: 'json', list: '', requires: ['slashtag', 'destination', 'shortUrl'] },
  ],
  fields: {
    address: ['shortUrl'],
    host: ['domainName', 'domain.fullName', 'domain'],
    alias: ['slashtag'],
    url: ['destination'],
    title: ['title'],
    notes: ['description'],
    tags: ['tags'],
    created_at: ['createdAt'],
    forward_query: ['forwardParameters'],
    clicks: ['clicks'],
  },
}
