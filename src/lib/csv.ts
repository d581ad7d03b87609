/** Writes rows of CSV files (RFC 4180) for spreadsheets. */
import { setImmediate as nextTick } from 'node:timers/promises'

/** Returns a row with its line break. No cell is a formula. Null is an empty cell. */
export function csvRow(cells: readonly (string | number | null)[]): string {
  return `${cells.map(formatCell).join(',')}\r\n`
}

/** Rows that are formatted in one event-loop tick, which take about a millisecond. */
const rowsPerTick = 1_000

/** Yields the text of rows in parts, each in its own event-loop tick. */
export async function* csvParts(rows: readonly Parameters<typeof csvRow>[0][]): AsyncGenerator<string> {
  for (let at = 0; at < rows.length; at += rowsPerTick) {
    if (at > 0) await nextTick()
    yield rows
      .slice(at, at + rowsPerTick)
      .map(csvRow)
      .join('')
  }
}

function formatCell(value: string | number | null): string {
  const text = String(value ?? '')
  const safe = typeof value === 'string' && formula.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Text that spreadsheets would run as a formula, maybe after apostrophes, which they hide. */
const formula = /^'*[=+\-@\t\r]/

/** Removes the apostrophe that `csvRow` puts before formulas. */
export function withoutApostrophe(text: string): string {
  return text.startsWith("'") && formula.test(text) ? text.slice(1) : text
}
