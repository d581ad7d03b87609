/** Clicks for spreadsheets: CSV by RFC 4180, in UTF-8. Pure. */

import { csvRow } from '../lib/csv.ts'
import type { ShortUrl } from '../names/short-url.ts'
import { dayText } from './calendar.ts'
import { addCounts, dimensionsOfLinks, noCounts, other, shownCounts, sortedValues, type Value } from './day.ts'
import type { NamedLinkDay } from './transfer-store.ts'

export const csvHead = 'day,short_url,link_id,dimension,value,clicks,unique_clicks,bots,previews,time_zone\r\n'

/** Returns the rows for a link day in its time zone: the total, then each value by dimension. */
export function csvRows(
  { link, domain, alias, day, facts }: NamedLinkDay,
  shortUrl: ShortUrl,
  timeZone: string,
): string {
  const start = [dayText(day), shortUrl(domain, alias), link]
  const total = noCounts()
  for (const counts of facts.hours.values()) addCounts(total, counts)
  const values = dimensionsOfLinks.flatMap((dimension) =>
    sortedValues(facts.breakdowns[dimension]).map(([value, clicks]) => [dimension, shown(value), clicks, '', '', '']),
  )
  return [['total', '', ...Object.values(shownCounts(total))], ...values]
    .map((rest) => csvRow([...start, ...rest, timeZone]))
    .join('')
}

/** Values have no brackets. */
function shown(value: Value): string {
  return value === null ? '(unknown)' : value === other ? '(other)' : String(value)
}
