import type { SourceTable } from '../source-table.ts'

export const shlink: SourceTable = {
  source: 'shlink',
  isCaseSensitive: true,
  formats: [
    { kind: 'json', list: 'shortUrls.data', requires: ['shortCode', 'longUrl'], key: ['domain', 'shortCode'] },
    {
      kind: 'json',
      list: 'visits.data',
      requires: ['date', 'userAgent'],
      clicks: {
        time: 'date',
        address: 'visitedUrl',
        key: ['domain', 'shortCode'],
        referrer: 'referer',
        userAgent: 'userAgent',
        bot: 'potentialBot',
        country: 'visitLocation.countryCode',
      },
    },
    { kind: 'csv', requires: ['shortCode', 'shortUrl', 'longUrl', 'visits'] },
  ],
  fields: {
    address: ['shortUrl'],
    host: ['domain'],
    alias: ['shortCode'],
    url: ['longUrl'],
    title: ['title'],
    tags: ['tags'],
    created_at: ['dateCreated', 'createdAt'],
    active_period_start_at: ['meta.validSince', 'validSince'],
    active_period_end_at: ['meta.validUntil', 'validUntil'],
    clicks_limit: ['meta.maxVisits', 'maxVisits'],
    forward_query: ['forwardQuery'],
    clicks: ['visitsSummary.nonBots', 'visits', 'visitsCount'],
    bots: ['visitsSummary.bots'],
  },
  losses: { rules: ['hasRedirectRules'] },
  tagSeparator: '|',
}
