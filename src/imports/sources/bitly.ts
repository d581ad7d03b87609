import type { SourceTable } from '../source-table.ts'

export const bitly: SourceTable = {
  source: 'bitly',
  isCaseSensitive: true,
  formats: [
    { kind: 'csv', requires: ['Link', 'Custom Link', 'Destination URL'] },
    { kind: 'csv', requires: ['long_url', 'custom_bitlink'] },
    { kind: 'json', list: 'links', requires: ['long_url', 'custom_bitlinks'] },
  ],
  fields: {
    address: ['Custom Link', 'custom_bitlink', 'custom_bitlinks', 'Link', 'link'],
    url: ['Destination URL', 'long_url'],
    title: ['Title', 'title'],
    tags: ['tags'],
    created_at: ['Date created', 'created_at'],
    archived: ['archived', ['Status', (status) => status === 'Deleted']],
    clicks: ['Engagements'],
  },
  losses: { rules: ['deeplinks'] },
}
