/** What people call the services from which links are imported. */
import type { Source } from './file-row.ts'

export const sourceNames: Readonly<Record<Source | 'auto', string>> = {
  ...{ auto: 'Recognize the service', bitly: 'Bitly', yourls: 'YOURLS', kutt: 'Kutt', shlink: 'Shlink', dub: 'Dub' },
  ...{ rebrandly: 'Rebrandly', short_io: 'Short.io', phpshort: 'phpShort', csv: 'Spreadsheet or Waymark' },
}

/** Returns the words after "the import": "from Bitly". A newer server may have other sources. */
export function nameOrigin(source: string): string {
  return source === 'csv' ? 'of a spreadsheet' : `from ${sourceNames[source as Source] ?? source}`
}
