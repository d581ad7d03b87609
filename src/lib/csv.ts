/** Rows of CSV files (RFC 4180) for spreadsheets. */
import { setImmediate as nextTick } from 'node:timers/promises'
import { Ticks } from './periodic.ts'

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

/** What separates cells: a comma, a semicolon, or a tab in rows that were copied from a spreadsheet. */
export type Separator = ',' | ';' | '\t'

/** Cells that are read before the time is checked, and characters of one cell. */
const [cellsPerCheck, charactersPerCheck] = [100, 1_000]
/** More rows than anything accepts. Others are only counted. */
const maxRows = 10_000
/** More quotes than any valid cell has: finding and replacing half a million takes 90 ms. */
const maxQuotes = 10_000

/** The rows of a CSV text, without empty rows. */
interface CsvRows {
  /** The first 10,000 rows. Their numbers start at 1 and include empty rows. */
  readonly rows: readonly { readonly number: number; readonly cells: readonly string[] }[]
  readonly total: number
}

/** Returns the cells of the first 10,000 rows of a CSV text, or undefined for invalid text. */
export async function parseCsv(text: string): Promise<(readonly string[])[] | undefined> {
  const read = await readCsv(text)
  return typeof read === 'number' ? undefined : read.rows.map(({ cells }) => cells)
}

/**
 * Returns the rows of a CSV text. Empty rows are empty lines by default. Returns the number of the first row in which a
 * quote is not closed, text follows one, or a cell has more than 10,000 quotes. Removes the apostrophe that `csvRow` puts
 * before formulas.
 */
export async function readCsv(
  text: string,
  separator: Separator = ',',
  isEmpty = (cells: readonly string[]) => cells.length === 1 && cells[0] === '',
): Promise<CsvRows | number> {
  const pattern = cellBefore(separator)
  const ticks = new Ticks()
  const rows: { number: number; cells: string[] }[] = []
  let [number, total, cells] = [1, 0, 0]
  let row: string[] = []
  const endRow = () => {
    if (!isEmpty(row)) {
      total += 1
      if (total <= maxRows) rows.push({ number, cells: row })
    }
    number += 1
    row = []
  }
  for (let at = 0; at < text.length; ) {
    pattern.lastIndex = at
    const [whole, quoted, plain, end] = pattern.exec(text) ?? []
    if (whole === undefined) return number
    at += whole.length
    row.push(withoutApostrophe(quoted?.replaceAll('""', '"') ?? plain ?? ''))
    cells += 1
    if (cells % cellsPerCheck === 0 || whole.length > charactersPerCheck) await ticks.next()
    if (end === separator && at < text.length) continue
    if (end === separator) row.push('')
    endRow()
  }
  return { rows, total }
}

function withoutApostrophe(text: string): string {
  return text.startsWith("'") && formula.test(text) ? text.slice(1) : text
}

/** Returns a pattern for a cell with the separator or the line break after it, which the last one may lack. */
function cellBefore(separator: Separator): RegExp {
  return new RegExp(
    `(?:"([^"]*(?:""[^"]*){0,${maxQuotes}})"|([^"${separator}\\r\\n]+)?)(${separator}|\\r\\n|\\n|$)`,
    'y',
  )
}
