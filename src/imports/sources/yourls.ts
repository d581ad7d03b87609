import type { SourceTable } from '../source-table.ts'
import { parseAddress, toText } from '../values.ts'

const columns = ['keyword', 'url', 'title', 'timestamp', 'ip', 'clicks']

export const yourls: SourceTable = {
  source: 'yourls',
  isCaseSensitive: true,
  formats: [
    { kind: 'sql', requires: columns },
    {
      kind: 'sql',
      requires: ['click_time', 'shorturl', 'referrer', 'user_agent', 'ip_address', 'country_code'],
      clicks: {
        time: 'click_time',
        alias: 'shorturl',
        referrer: 'referrer',
        userAgent: 'user_agent',
        country: 'country_code',
      },
    },
    { kind: 'csv', requires: columns },
    // The Import-Export plugin.
    { kind: 'csv', requires: ['source', 'target', 'hits'] },
    // The action `stats` of the API.
    { kind: 'json', list: 'links', requires: ['shorturl', 'url', 'clicks'] },
  ],
  fields: {
    alias: ['keyword', 'source', ['shorturl', (url) => parseAddress(toText(url))?.path]],
    url: ['url', 'target'],
    title: ['title'],
    created_at: ['timestamp'],
    clicks: ['clicks', 'hits'],
  },
}
