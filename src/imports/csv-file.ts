/** Rows of CSV files (RFC 4180), as spreadsheets write them. */
import { CsvError, CsvReader, type CsvRow, maxQuotes } from '../lib/csv-rows.ts'
import { malformed } from './text.ts'

/** More than any row has. Bounds the memory for a quote that is never closed. */
const maxRowLength = 1024 * 1024

/** More than any row has. Bounds the memory for empty cells. */
const maxCells = 10_000

/** What Excel may write before the first row. */
const preamble = /^\s*sep=.(?:\r\n|\r|\n|$)/i
/** A single URL. */
const url = /^\s*[a-z][a-z\d+.-]*:[^\s]+\s*$/i

/** Returns whether the start of a file is a list of URLs, without names of columns. */
export function isUrlList(start: string): boolean {
  const lines = start.replace(preamble, '').split(/\r\n|\r|\n/)
  // The last line may be incomplete.
  const whole = lines.filter((line, at) => line.trim() !== '' && (at === 0 || at < lines.length - 1))
  return whole.length > 0 && whole.every((line) => url.test(line) && !/[,;\t]"?[a-z]+:\/\//i.test(line))
}

/** Returns what separates cells: whichever of a comma, a semicolon and a tab the first row has most. */
function findSeparator(start: string): ',' | ';' | '\t' {
  const [line = ''] = /[^\r\n]+/.exec(start.replace(preamble, '')) ?? []
  const plain = line.replace(/"[^"]*"/g, '')
  return ([',', ';', '\t'] as const).reduce((best, each) =>
    plain.split(each).length > plain.split(best).length ? each : best,
  )
}

/** Yields rows, but no blank ones. A list has one cell per line. Throws `malformed_body`. */
export async function* readCsv(start: string, text: AsyncIterable<string>, isList: boolean): AsyncGenerator<CsvRow> {
  const [skipped = ''] = preamble.exec(start) ?? []
  const separator = isList ? null : findSeparator(start)
  const line = skipped.split('\n').length
  const reader = new CsvReader({ separator, line, keepsStrayQuotes: true, maxRowLength, maxCells })
  const rows = function* (part: string, isEnd: boolean) {
    for (const row of reader.read(part, isEnd)) if (row.cells.some((cell) => cell.trim() !== '')) yield row
  }
  try {
    let left = skipped.length
    for await (const part of text) {
      yield* rows(part.slice(left), false)
      left = Math.max(0, left - part.length)
    }
    yield* rows('', true)
  } catch (error) {
    throw error instanceof CsvError ? toFailure(error) : error
  }
}

function toFailure({ problem, line, cell: column }: CsvError): unknown {
  switch (problem) {
    case 'too many cells':
      return malformed({ line, column }, `the row has more than ${maxCells} cells`, 'Delete columns.')
    case 'too many quotes':
      return malformed({ line, column }, `the cell has more than ${maxQuotes} quotes`, 'Shorten it.')
    case 'too long':
      return malformed({ line, column }, 'the row is longer than 1 MiB, maybe because a quote is not closed', wayOut)
    default:
      return malformed({ line, column }, 'a quote in this row is never closed', wayOut)
  }
}

const wayOut = 'Put one quote before and after a cell, and double the quotes within it.'
