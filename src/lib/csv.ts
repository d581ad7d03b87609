/** Rows of CSV files (RFC 4180) for spreadsheets. */
import { setImmediate as nextTick } from 'node:timers/promises'
import { Ticks } from './ticks.ts'

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

/** Cells that are read before the time is checked, and characters of one cell. */
const [cellsPerCheck, charactersPerCheck] = [100, 1_000]
/** More rows than anything accepts. Others are left out. */
const maxRows = 10_000
/** More quotes than any valid cell has: finding and replacing half a million takes 90 ms. */
const maxQuotes = 10_000

/**
 * Returns the cells of the first 10,000 rows of a CSV text (RFC 4180), without empty lines. LF, CR and CR LF end a line. A quote
 * is special only at the start of a cell: then another one ends the cell, and two stand for one. Returns a sentence about the
 * first cell whose quote is not closed, or has text after it, or that has more than 10,000 quotes. Removes the apostrophe that
 * `csvRow` puts before formulas.
 */
export async function parseCsv(text: string): Promise<(readonly string[])[] | string> {
  const ticks = new Ticks()
  const rows: string[][] = []
  let [number, cells] = [1, 0]
  let row: string[] = []
  const endRow = () => {
    const isEmpty = row.length === 1 && row[0] === ''
    if (!isEmpty && rows.length < maxRows) rows.push(row)
    number += 1
    row = []
  }
  for (let at = 0; at < text.length; ) {
    cellPattern.lastIndex = at
    const [whole, quoted, plain, end] = cellPattern.exec(text) ?? []
    if (whole === undefined) return `In row ${number}, column ${row.length + 1}, ${findProblem(text, at)}`
    at += whole.length
    row.push(withoutApostrophe(quoted?.replaceAll('""', '"') ?? plain ?? ''))
    cells += 1
    if (cells % cellsPerCheck === 0 || whole.length > charactersPerCheck) await ticks.next()
    if (end === ',' && at < text.length) continue
    if (end === ',') row.push('')
    endRow()
  }
  return rows
}

/** Returns the end of a sentence that says why the quoted cell at `at` can't be read. */
function findProblem(text: string, at: number): string {
  const advice = 'Double the quotes within a cell, and put one before and after it.'
  beforeClosingQuote.lastIndex = at
  const end = at + (beforeClosingQuote.exec(text)?.[0].length ?? 0)
  const line = lineAt(text, at)
  if (end === text.length) return `the quote in line ${line} is never closed. ${advice}`
  if (text[end + 1] === '"') return `the cell has more than ${maxQuotes.toLocaleString('en-US')} quotes. Shorten it.`
  const last = lineAt(text, end)
  if (last === line) return `text follows the closing quote. ${advice}`
  return `the quote in line ${line} is closed in line ${last}, but text follows. ${advice}`
}

/** Returns the number of the line with the character at `at`. */
function lineAt(text: string, at: number): number {
  let line = 1
  for (let n = 0; n < at; n++) {
    const code = text.charCodeAt(n)
    if (code === 10 || (code === 13 && text.charCodeAt(n + 1) !== 10)) line += 1
  }
  return line
}

/** Removes the apostrophe that `csvRow` puts before formulas. */
export function withoutApostrophe(text: string): string {
  return text.startsWith("'") && formula.test(text) ? text.slice(1) : text
}

const quotedText = `[^"]*(?:""[^"]*){0,${maxQuotes}}`
const beforeClosingQuote = new RegExp(`"${quotedText}`, 'y')

/** A cell with the comma or the line break after it, which the last one may lack. */
const cellPattern = new RegExp(`(?:"(${quotedText})"|((?!")[^,\\r\\n]*))(\\r\\n|\\r|\\n|$|,)`, 'y')
