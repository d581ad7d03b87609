/** Reads the files of an import, in a stream. Nothing is stored. */

import type { CsvRow } from '../lib/csv-rows.ts'
import { ClickHours, ClickReader, unknownLink } from './clicks.ts'
import { type ColumnChoice, describeColumns, guessColumns, isPrivate, mapColumns } from './csv-columns.ts'
import { isUrlList, readCsv } from './csv-file.ts'
import type { FileColumn, FileItem, FileRow, Source } from './file-row.ts'
import { ambiguousFormat, type Found, findFormat, hasAll, missingRows, unknownFormat } from './recognition.ts'
import {
  csvRecords,
  type FileRecord,
  hasValue,
  jsonRecords,
  listNames,
  readValue,
  sqlRecords,
  Table,
} from './records.ts'
import { findExtraCell, type RowOptions, RowReader, readKey } from './rows.ts'
import type { Format, SourceTable } from './source-table.ts'
import { csv } from './sources/csv.ts'
import { phpshort, phpshortColumns } from './sources/phpshort.ts'
import { sourceTables } from './sources.ts'
import { decodeText, malformed, peekText } from './text.ts'
import { FileTimes, toText } from './values.ts'

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
  // Throws for an unknown zone.
  new FileTimes(options.timeZone)
  const { start, text } = await peekText(decodeText(bytes))
  const type = options.type ?? recognizeType(start)
  const tables = sourceTables.filter(({ source }) => options.source === 'auto' || options.source === source)
  if (type === 'csv') return readTable(start, text, tables, options)
  return readRecords(type === 'sql' ? sqlRecords(text) : jsonRecords(text), tables, options)
}

function recognizeType(start: string): 'csv' | 'json' | 'sql' {
  if (/^\s*[{[]/.test(start)) return 'json'
  const isSql = /^\s*(?:--|\/\*|PRAGMA\s)/i.test(start) || statement.test(start)
  return isSql ? 'sql' : 'csv'
}

/** A statement that dumps have, at the start of a line. */
const statement = /^[ \t]*(?:(?:INSERT|REPLACE)\s+(?:IGNORE\s+)?INTO|CREATE\s+TABLE|COPY\s+\S+\s+\()/im

/** Reads a table of a service, or one with columns of any names. */
async function readTable(
  start: string,
  text: AsyncIterable<string>,
  tables: readonly SourceTable[],
  options: ReadingOptions,
): Promise<FileReading> {
  const isList = tables.includes(csv) && isUrlList(start)
  const rows = readCsv(start, text, isList)
  const isPhpshort = !isList && tables.includes(phpshort) && phpshortStart.test(start)
  const first = isList ? ['url'] : await nextCells(rows)
  const { timeZone, header } = isPhpshort ? await readPhpshortHead(rows, options) : { ...options, header: first }
  const found = isPhpshort
    ? { table: phpshort, format: phpshort.formats[0] as Format }
    : findRecordFormat(tables, new Table('csv', '', header).row([], 1))
  if (found !== null && found.table !== csv) {
    const names = isPhpshort ? phpshortColumns : header
    const records = csvRecords(
      header.map((_, at) => names[at] ?? ''),
      rows,
    )
    return startReading(found, records, { ...options, timeZone }, describeColumns(found.table, names, header))
  }
  if (!tables.includes(csv)) throw unknownFormat(header)
  const columns = mapColumns(guessColumns(header), options)
  return startReading(anyTable, csvRecords(fieldNames(columns), rows), options, columns)
}

/** More than any export has. */
const maxColumns = 500
/** Three lines with two cells: what the file has, when it was written, and from where. */
const phpshortStart = /^(?:[^,;\t\r\n]+[,;\t][^\r\n]+\r?\n){2}[^,;\t\r\n]+[,;\t][^\r\n]*\/links\/export/

async function nextCells(rows: AsyncGenerator<CsvRow>): Promise<readonly string[]> {
  const { value, done } = await rows.next()
  if (done) throw missingRows()
  if (value.cells.length <= maxColumns) return value.cells
  throw malformed({ line: value.line, column: 1 }, `the row has more than ${maxColumns} cells`, 'Delete columns.')
}

/** Reads the lines above the rows: when and where the file was written, and the names of columns. */
async function readPhpshortHead(rows: AsyncGenerator<CsvRow>, options: ReadingOptions) {
  const [, written = ''] = await nextCells(rows)
  await nextCells(rows)
  const [, timeZone = options.timeZone] = /([+-]\d\d:?\d\d)\W*$/.exec(written) ?? []
  return { timeZone, header: await nextCells(rows) }
}

/** Reads the records of a recognized file. */
function startReading(
  found: Found,
  records: AsyncIterable<readonly FileRecord[]>,
  options: RowOptions,
  columns: readonly FileColumn[] = [],
  tables: readonly SourceTable[] = [],
): FileReading {
  const { source, isCaseSensitive } = found.table
  const items = new ItemReader(found, tables, options, source === 'csv' ? columns : []).read(records)
  return { source, isCaseSensitive, columns, items }
}

const anyTable: Found = { table: csv, format: csv.formats[0] as Format }

function fieldNames(columns: readonly FileColumn[]): string[] {
  return columns.map(({ field }) => field ?? '')
}

/** Reads stored cells again, under other fields of their columns. Throws like `readFile`. */
export class CellReader {
  readonly #table: Table
  readonly #rows: RowReader

  constructor(columns: readonly FileColumn[], options: RowOptions) {
    this.#table = new Table('csv', '', fieldNames(columns))
    this.#rows = new RowReader(anyTable, options)
  }

  read(cells: readonly string[], line: number | null): FileRow {
    return this.#rows.read(this.#table.row(cells, line))
  }
}

/** Records that are read to recognize a file: some of the first ones may lack a required key. */
const maxWaiting = 1_000

/** Reads the records of JSON or of a dump. */
async function readRecords(
  batches: AsyncGenerator<FileRecord[]>,
  tables: readonly SourceTable[],
  options: ReadingOptions,
): Promise<FileReading> {
  let waiting: readonly FileRecord[] = []
  for (;;) {
    const { value, done } = await batches.next()
    const batch: readonly FileRecord[] = done ? [] : value
    const found = batch.map((record) => findRecordFormat(tables, record)).find((each) => each !== null)
    waiting = waiting.concat(batch)
    if (found !== undefined) {
      return startReading(found, inOrder(waiting, batches), options, [], tables)
    }
    // Dumps start with other tables, which may be long.
    if (waiting[0]?.kind === 'sql') waiting = waiting.slice(0, 1)
    if (done || waiting.length >= maxWaiting) {
      const first = waiting.find(({ isPage }) => !isPage)
      throw first === undefined ? missingRows() : unknownFormat(listNames(first))
    }
  }
}

async function* inOrder(first: readonly FileRecord[], rest: AsyncIterable<readonly FileRecord[]>) {
  yield first
  yield* rest
}

/** Returns the format that a record has. Throws `ambiguous_format`. */
function findRecordFormat(tables: readonly SourceTable[], record: FileRecord): Found | null {
  if (record.isPage) return null
  return findFormat(tables, (format) => {
    const isThere = format.kind === record.kind && (record.kind !== 'json' || format.list === record.list)
    return isThere && hasAll(format.requires, (name) => hasValue(record, name))
  })
}

/** Hosts in memory for rows that refer to them. Rows of other hosts name no domain. */
const maxHosts = 10_000

/** Reads the records of a recognized file. */
class ItemReader {
  readonly #found: Found
  /** The sources whose tables the same dump can have. */
  readonly #tables: readonly SourceTable[]
  readonly #options: RowOptions
  /** The table's columns, if its cells are stored. */
  readonly #columns: readonly FileColumn[]
  /** Positions of columns that are never read. */
  readonly #private: ReadonlySet<number>
  /** By list. */
  readonly #readers = new Map<string, RowReader | ClickReader | { readonly hosts: Format } | null>()
  readonly #hosts = new Map<string, string>()
  readonly #hours = new ClickHours()
  readonly #page = new Page()

  constructor(found: Found, tables: readonly SourceTable[], options: RowOptions, columns: readonly FileColumn[]) {
    this.#found = found
    this.#tables = tables
    this.#options = options
    this.#columns = columns
    this.#private = new Set(columns.flatMap(({ name }, at) => (isPrivate(name) ? at : [])))
  }

  async *read(batches: AsyncIterable<readonly FileRecord[]>): AsyncGenerator<FileItem> {
    let isEmpty = true
    for await (const batch of batches) {
      for (const record of batch) {
        for (const item of record.isPage ? this.#page.end(record) : this.#readRecord(record)) {
          if ('row' in item) isEmpty = false
          yield item
        }
      }
    }
    if (isEmpty) throw missingRows()
    yield* this.#hours.takeItems()
  }

  *#readRecord(record: FileRecord): Generator<FileItem> {
    const reader = this.#readerFor(record)
    if (reader instanceof RowReader) {
      yield { row: reader.read(record), reference: reader.reference(record), cells: this.#storedCells(record) }
    } else if (reader instanceof ClickReader) yield* this.#readClicks(reader, record)
    else if (reader !== null && this.#hosts.size < maxHosts) {
      const { key = [], hosts = '' } = reader.hosts
      this.#hosts.set(readKey(record, key), toText(readValue(record, hosts)))
    }
  }

  *#readClicks(reader: ClickReader, record: FileRecord): Generator<FileItem> {
    const link = reader.findLink(record)
    const hours = link === null ? this.#page.hoursFor(reader) : this.#hours
    reader.read(record, link ?? this.#page.link, hours)
    if (hours.isFull) yield* link === null ? this.#page.takeEarly() : hours.takeItems()
  }

  /** Returns the reader for a list; null if the list is skipped. Throws if it belongs to another source. */
  #readerFor(record: FileRecord) {
    return this.#readers.getOrInsertComputed(record.list, () => {
      const { table } = this.#found
      const found = record.kind === 'csv' ? this.#found : this.#formatFor(record)
      if (found === null) return null
      if (found.table !== table) throw ambiguousFormat([table, found.table])
      const { clicks, timeZone = this.#options.timeZone } = found.format
      if (clicks !== undefined) return new ClickReader(clicks, new FileTimes(timeZone))
      return found.format.hosts === undefined
        ? new RowReader(found, this.#options, this.#hosts)
        : { hosts: found.format }
    })
  }

  /** Some records of a JSON list may lack a required key, and each source has one format for a list. */
  #formatFor(record: FileRecord): Found | null {
    if (record.kind === 'sql') return findRecordFormat(this.#tables, record)
    const { table } = this.#found
    const format = table.formats.find(({ kind, list }) => kind === 'json' && list === record.list)
    return format === undefined ? null : { table, format }
  }

  #storedCells(record: FileRecord): readonly string[] | null {
    if (this.#columns.length === 0) return null
    const cells = record.cells?.slice(0, this.#columns.length) ?? []
    const stored = cells.map((cell, at) => (this.#private.has(at) ? '' : (cell ?? '')))
    // One more cell than columns says that there are too many.
    return stored.concat(findExtraCell(record) ?? [])
  }
}

/** The clicks in a page of JSON whose link follows their list. */
class Page {
  readonly #hours = new ClickHours()
  #reader: ClickReader | null = null
  #number = 1
  #hasPassedClicks = false

  /** Refers to the link until the page ends. */
  get link() {
    return { ...unknownLink, reference: `page ${this.#number}` }
  }

  hoursFor(reader: ClickReader): ClickHours {
    this.#reader = reader
    return this.#hours
  }

  /** Passes on clicks before the link is known. */
  *takeEarly(): Generator<FileItem> {
    this.#hasPassedClicks = true
    yield* this.#hours.takeItems()
  }

  *end(page: FileRecord): Generator<FileItem> {
    const link = this.#reader?.findLink(page) ?? unknownLink
    for (const clicks of this.#hours.take()) yield { clicks: { ...clicks, ...link } }
    if (this.#hasPassedClicks) yield { page: this.link.reference, link }
    this.#number += 1
    this.#hasPassedClicks = false
  }
}
