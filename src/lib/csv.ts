/** Rows of CSV files (RFC 4180) for spreadsheets. */
import { setImmediate as nextTick } from 'node:timers/promises'

/** Returns a row with its line break. No cell is a formula. Null is an empty cell. */
export function csvRow(cells: readonly (string | number | null)[]): string {
  return `${cells.map(cellOf).join(',')}\r\n`
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

function cellOf(value: string | number | null): string {
  const text = String(value ?? '')
  const safe = typeof value === 'string' && formula.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Text that spreadsheets would run as a formula, maybe after apostrophes, which they hide. */
const formula = /^'*[=+\-@\t\r]/

/**
 * Returns the rows of a CSV text without empty lines, or undefined if a quote is not closed or text follows one. Removes the
 * apostrophe that `csvRow` puts before formulas.
 */
export function parseCsv(text: string): string[][] | undefined {
  const rows: string[][] = []
  let row: string[] = []
  for (let at = 0; at < text.length; ) {
    cell.lastIndex = at
    const [whole, quoted, plain, end] = cell.exec(text) ?? []
    if (whole === undefined) return undefined
    at += whole.length
    row.push(withoutApostrophe(quoted?.replaceAll('""', '"') ?? plain ?? ''))
    if (end === ',' && at < text.length) continue
    if (end === ',') row.push('')
    if (row.length > 1 || row[0] !== '') rows.push(row)
    row = []
  }
  return rows
}

function withoutApostrophe(text: string): string {
  return text.startsWith("'") && formula.test(text) ? text.slice(1) : text
}

/** A cell with the comma or the line break after it, which the last one may lack. */
const cell = /(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]+)?)(,|\r\n|\n|$)/y
