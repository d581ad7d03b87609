/** Reads the files of an import, in a stream. Nothing is stored. */
import { type ColumnChoice, columnsOf, guessColumns, isPrivate, mapColumns, normalized } from './csv-columns.ts'
import { type CsvRow, isUrlList, readCsv } from './csv-file.ts'
import type { FileColumn, FileItem, FileRow, Source } from './file-row.ts'
import { type Found, findFormat, hasAll, missingRows, unknownFormat } from './recognition.ts'
import { readRecords } from './records.ts'
import { cellsOf, References, RowReader } from './rows.ts'
import type { Format, SourceTable } from './source-table.ts'
import { csv } from './sources/csv.ts'
import { phpshort, phpshortColumns } from './sources/phpshort.ts'
import { sourceTables } from './sources.ts'
import { decodeText, malformed, peekText } from './text.ts'
import { FileTimes } from './values.ts'

export interface ReadingOptions extends ColumnChoice {
  readonly source: Source | 'auto'
  /** Null: recognized by the first characters. */
  readonly type: 'csv' | 'json' | 'ndjson' | 'sql' | null
  /** An IANA name or an offset such as `+02:00`, for times without one. */
  readonly timeZone: string | null
}

/** A recognized file. */
export interface FileReading {
  readonly source: Source
  /** Whether the source takes aliases that differ only in case for different ones. */
  readonly isCaseSensitive: boolean
  /** None for JSON and SQL. */
  readonly columns: readonly FileColumn[]
  readonly items: AsyncIterable<FileItem>
}

/**
 * Reads the start of a file, and recognizes its format. Memory stays flat: `items` reads the rest. Both throw failures:
 * `malformed_body` with line and column, and `validation_failed` on `source`, `columns`, `time_zone` or `body`.
 */
export async function readFile(bytes: AsyncIterable<Uint8Array>, options: ReadingOptions): Promise<FileReading> {
  const times = new FileTimes(options.timeZone)
  const { start, text } = await peekText(decodeText(bytes))
  const type = options.type ?? typeOf(start)
  const tables = sourceTables.filter(({ source }) => options.source === 'auto' || options.source === source)
  if (type === 'csv') return readTable(start, text, tables, options)
  const { generateAliases: generatesAliases } = options
  const { table, items } = await readRecords(text, {
    tables,
    kind: type === 'sql' ? 'sql' : 'json',
    times,
    generatesAliases,
  })
  return { source: table.source, isCaseSensitive: table.isCaseSensitive, columns: [], items }
}

function typeOf(start: string): 'csv' | 'json' | 'sql' {
  if (/^\s*[{[]/.test(start)) return 'json'
  const isSql = /^\s*(?:--|\/\*|PRAGMA\s)/i.test(start) || statement.test(start)
  return isSql ? 'sql' : 'csv'
}

/** A statement that dumps have, at the start of a line. */
const statement = /^[ \t]*(?:(?:INSERT|REPLACE)\s+(?:IGNORE\s+)?INTO|CREATE\s+TABLE|COPY\s+\S+\s+\()/im

async function readTable(
  start: string,
  text: AsyncIterable<string>,
  tables: readonly SourceTable[],
  options: ReadingOptions,
): Promise<FileReading> {
  const isList = tables.includes(csv) && isUrlList(start)
  const rows = readCsv(start, text, isList)
  const next = async () => {
    const { value, done } = await rows.next()
    if (done) throw missingRows()
    if (value.cells.length <= maxColumns) return value.cells
    throw malformed({ line: value.line, column: 1 }, `the row has more than ${maxColumns} cells`, 'Delete columns.')
  }
  const isPhpshort = tables.includes(phpshort) && phpshortStart.test(start)
  if (isList) return readColumns(guessColumns(['url']), rows, options)
  const header = await next()
  if (!isPhpshort) return readHeader(header, rows, tables, options)
  const [, written = ''] = await next()
  await next()
  const [, zone = null] = /([+-]\d\d:?\d\d)\W*$/.exec(written) ?? []
  const found = { table: phpshort, format: phpshort.formats[0] as Format }
  return tableOf(found, phpshortColumns, await next(), rows, { ...options, timeZone: zone ?? options.timeZone })
}

/** More than any export has. */
const maxColumns = 500
/** Three lines with two cells: what the file has, when it was written, and from where. */
const phpshortStart = /^(?:[^,;\t\r\n]+[,;\t][^\r\n]+\r?\n){2}[^,;\t\r\n]+[,;\t][^\r\n]*\/links\/export/

function readHeader(
  names: readonly string[],
  rows: AsyncIterable<CsvRow>,
  tables: readonly SourceTable[],
  options: ReadingOptions,
): FileReading {
  const seen = new Set(names.map(normalized))
  const has = (name: string) => seen.has(normalized(name))
  const found = findFormat(tables, ({ kind, requires }) => kind === 'csv' && hasAll(requires, has))
  if (found !== null) return tableOf(found, names, names, rows, options)
  if (tables.includes(csv)) return readColumns(guessColumns(names), rows, options)
  throw unknownFormat(names)
}

function tableOf(
  { table, format }: Found,
  names: readonly string[],
  shown: readonly string[],
  rows: AsyncIterable<CsvRow>,
  { timeZone, generateAliases: generatesAliases }: ReadingOptions,
): FileReading {
  const times = new FileTimes(timeZone)
  const reader = new RowReader({
    table,
    format,
    get: cellsOf(names),
    times,
    generatesAliases,
    references: new References(),
  })
  const read = (cells: readonly string[], line: number) => withExtraCells(reader.read(cells, line), cells, shown.length)
  const columns = columnsOf(table, names, shown)
  return { source: table.source, isCaseSensitive: table.isCaseSensitive, columns, items: itemsOf(rows, read, null) }
}

function readColumns(
  guessed: readonly FileColumn[],
  rows: AsyncIterable<CsvRow>,
  options: ReadingOptions,
): FileReading {
  const columns = mapColumns(guessed, options)
  const items = itemsOf(rows, readCells(columns, options), columns)
  return { source: 'csv', isCaseSensitive: csv.isCaseSensitive, columns, items }
}

/** Returns a function for the rows of stored cells under the fields of these columns. Both throw like `readFile`. */
export function readCells(
  columns: readonly FileColumn[],
  { timeZone, generateAliases: generatesAliases }: Pick<ReadingOptions, 'timeZone' | 'generateAliases'>,
): (cells: readonly string[], line: number | null) => FileRow {
  const get = cellsOf(columns.map(({ field }) => field ?? ''))
  const [format] = csv.formats as [Format]
  const times = new FileTimes(timeZone)
  const reader = new RowReader({ table: csv, format, get, times, generatesAliases, references: new References() })
  return (cells, line) => withExtraCells(reader.read(cells, line), cells, columns.length)
}

function withExtraCells(row: FileRow, cells: readonly string[], columns: number): FileRow {
  if (!cells.slice(columns).some((cell) => cell.trim() !== '')) return row
  const message = `The row has more cells than the ${columns} columns. Put cells with separators in double quotes.`
  return { ...row, refusal: { code: 'extra_cells', message } }
}

/** Yields the rows. Their cells are stored if there are `columns`. */
async function* itemsOf(
  rows: AsyncIterable<CsvRow>,
  read: (cells: readonly string[], line: number) => FileRow,
  columns: readonly FileColumn[] | null,
): AsyncGenerator<FileItem> {
  const areLeftOut = columns?.map(({ name }) => isPrivate(name))
  let isEmpty = true
  for await (const { cells, line } of rows) {
    isEmpty = false
    // One more cell than columns says that there are too many.
    const more = cells.slice(columns?.length).find((cell) => cell.trim() !== '')
    const kept = areLeftOut && cells.slice(0, columns?.length).map((cell, at) => (areLeftOut[at] ? '' : cell))
    yield { row: read(cells, line), cells: kept === undefined ? null : kept.concat(more ?? []) }
  }
  if (isEmpty) throw missingRows()
}
