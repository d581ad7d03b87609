/** Rows of CSV files (RFC 4180), as spreadsheets write them. */
import { Readable } from 'node:stream'
import { type CsvError, type Info, type Options, parse } from 'csv-parse'
import { withoutApostrophe } from '../lib/csv.ts'
import { malformed } from './text.ts'

export interface CsvRow {
  /** The line on which the row starts, from 1. */
  readonly line: number
  readonly cells: readonly string[]
}

/** More than any row has. Bounds the memory for a quote that is never closed. */
const maxRowBytes = 1024 * 1024

/** More than any row has. Bounds the memory for empty cells, which the parser doesn't count. */
const maxCells = 10_000

class TooManyCells extends Error {}

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
function findSeparator(start: string): string {
  const [line = ''] = /[^\r\n]+/.exec(start.replace(preamble, '')) ?? []
  const plain = line.replace(/"[^"]*"/g, '')
  return [',', ';', '\t'].reduce((best, each) => (plain.split(each).length > plain.split(best).length ? each : best))
}

/** Yields rows, but no blank ones. A list has one cell per line. Throws `malformed_body`. */
export async function* readCsv(start: string, text: AsyncIterable<string>, isList: boolean): AsyncGenerator<CsvRow> {
  const skipped = countIn(preamble.exec(start)?.[0] ?? '', '\n')
  // The end of the last row, the blank lines above it, and how often the parser has counted CR LF in a cell twice.
  let [lastLine, blankLines, extra] = [skipped, 0, 0]
  const options: Options = {
    ...(isList ? { delimiter: '\0', quote: null } : { delimiter: findSeparator(start) }),
    cast: (cell, { index }) => {
      if (index >= maxCells) throw new TooManyCells()
      return cell
    },
    info: true,
    max_record_size: maxRowBytes,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    skip_records_with_empty_values: true,
  }
  const parser = Readable.from(withoutPreamble(text)).compose(parse(options))
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: Info }>) {
      const [breaks, pairs] = [countAll(record, '\n') + countAll(record, '\r'), countAll(record, '\r\n')]
      const line = skipped + info.lines - breaks - extra
      extra += pairs
      lastLine = skipped + info.lines - extra
      blankLines = info.empty_lines
      yield { line, cells: record.map(withoutApostrophe) }
    }
  } catch (error) {
    const failed = error as CsvError & Partial<Info>
    throw toFailure(failed, lastLine + (failed.empty_lines ?? blankLines) - blankLines + 1)
  }
}

async function* withoutPreamble(text: AsyncIterable<string>): AsyncGenerator<string> {
  let isStart = true
  for await (const part of text) {
    yield isStart ? part.replace(preamble, '') : part
    isStart = false
  }
}

function countAll(cells: readonly string[], part: string): number {
  return cells.reduce((sum, cell) => sum + countIn(cell, part), 0)
}

function countIn(text: string, part: string): number {
  return text.includes(part) ? text.split(part).length - 1 : 0
}

function toFailure(error: CsvError, line: number): unknown {
  if (error instanceof TooManyCells) {
    return malformed({ line, column: 1 }, `the row has more than ${maxCells} cells`, 'Delete columns.')
  }
  const column = Number(error.column ?? 0) + 1
  const wayOut = 'Put one quote before and after a cell, and double the quotes within it.'
  switch (error.code) {
    case 'CSV_QUOTE_NOT_CLOSED':
      return malformed({ line, column }, 'a quote in this row is never closed', wayOut)
    case 'CSV_MAX_RECORD_SIZE':
      return malformed({ line, column }, 'the row is longer than 1 MiB, maybe because a quote is not closed', wayOut)
    default:
      return error
  }
}
