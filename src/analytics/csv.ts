/**
 * Clicks for spreadsheets: CSV by RFC 4180, in UTF-8. Pure.
 */

import { dayText } from './calendar.ts'
import { type DayFacts, other, sortedValues, type Value } from './day.ts'
import { lineDimensions, shownCounts } from './day-line.ts'
import type { NamedLinkDay } from './transfer-store.ts'

const columns = [
  ...['day', 'short_link', 'link_id', 'dimension', 'value', 'clicks', 'unique_clicks', 'bots', 'previews'],
]

/** The names of the columns. */
export const csvHead = rowOf(columns)

/** The rows of a day of a link: its total, then each value of each dimension. */
export function csvRows({ link, domain, alias, day, facts }: NamedLinkDay): string {
  const start = [dayText(day), `${domain}/${alias}`, link]
  const values = lineDimensions.flatMap((dimension) =>
    sortedValues(facts.breakdowns[dimension]).map(([value, clicks]) => [
      dimension,
      shownValue(value),
      clicks,
      '',
      '',
      '',
    ]),
  )
  return [['total', '', ...totalsOf(facts)], ...values].map((rest) => rowOf([...start, ...rest])).join('')
}

function totalsOf({ hours }: DayFacts): number[] {
  const sum = { people: 0, unique: 0, bots: 0, previews: 0 }
  for (const counts of hours.values()) {
    for (const name of ['people', 'unique', 'bots', 'previews'] as const) sum[name] += counts[name]
  }
  return Object.values(shownCounts(sum))
}

/** No value has brackets around it. */
function shownValue(value: Value): string {
  return value === null ? '(unknown)' : value === other ? '(other)' : String(value)
}

function rowOf(cells: readonly (string | number)[]): string {
  return `${cells.map(cellOf).join(',')}\r\n`
}

function cellOf(value: string | number): string {
  const text = String(value)
  // Spreadsheets take such a text for a formula, and a referrer can be anything.
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
