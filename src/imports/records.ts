/** Reads the records of JSON files and SQL dumps. */
import { ClickHours, ClickReader } from './clicks.ts'
import { normalized } from './csv-columns.ts'
import type { FileClicks, FileItem, FileRow } from './file-row.ts'
import { readJson } from './json-file.ts'
import { ambiguousFormat, type Found, findFormat, hasAll, missingRows, unknownFormat } from './recognition.ts'
import { type Find, findCell, type Get, keyOf, References, type RowOptions, RowReader } from './rows.ts'
import type { SourceTable } from './source-table.ts'
import { readSql } from './sql-file.ts'
import { addressOf, FileTimes, isSet, textOf } from './values.ts'

interface Options extends Pick<RowOptions, 'times' | 'generatesAliases'> {
  readonly tables: readonly SourceTable[]
}

/** A record of either kind of file. */
interface FileRecord {
  /** The same for records with the same names and meaning. */
  readonly group: string
  /** The list of a JSON record. */
  readonly list: string | undefined
  readonly names: readonly string[]
  readonly has: (name: string) => boolean
  readonly find: Find
  readonly value: unknown
  readonly line: number | null
  readonly isPage: boolean
}

/** Records that are read to recognize a JSON file: some of the first ones may lack a required key. */
const maxWaiting = 1_000

/** Returns the source of a file, and its rows and clicks. Throws `validation_failed` on `source` or `body`. */
export async function readRecords(
  text: AsyncIterable<string>,
  kind: 'json' | 'sql',
  options: Options,
): Promise<{ readonly table: SourceTable; readonly items: AsyncIterable<FileItem> }> {
  const records = kind === 'json' ? jsonRecords(text) : sqlRecords(text)
  const waiting: FileRecord[] = []
  for (;;) {
    const { value, done } = await records.next()
    if (done || waiting.length >= maxWaiting) {
      const first = waiting.find(({ isPage }) => !isPage)
      throw first === undefined ? missingRows() : unknownFormat(first.names)
    }
    const found = value.isPage ? null : formatOf(value, kind, options.tables)
    // Dumps have many tables. The first one is enough for a message.
    if (found !== null || kind === 'json' || waiting.length === 0) waiting.push(value)
    if (found === null) continue
    const { table } = found
    return { table, items: new RecordItems(kind, table, options).read(waiting, records) }
  }
}

function formatOf({ has, list }: FileRecord, kind: 'json' | 'sql', tables: readonly SourceTable[]): Found | null {
  return findFormat(tables, (format) => {
    const isThere = format.kind === kind && (kind === 'sql' || (format.list ?? '') === list)
    return isThere && hasAll(format.requires, has)
  })
}

type Reader =
  | { readonly rows: RowReader }
  | { readonly clicks: ClickReader }
  | { readonly key: readonly { readonly get: Get }[]; readonly host: Get | null }

/** Reads the records of a recognized file. */
class RecordItems {
  readonly #kind: 'json' | 'sql'
  readonly #table: SourceTable
  readonly #options: Options
  readonly #references = new References()
  readonly #readers = new Map<string, Reader | null>()
  readonly #hours = new ClickHours()
  /** Clicks of the current page, whose address is next to their list. */
  readonly #pageHours = new ClickHours()
  /** Pages whose link may follow, and their clicks. */
  readonly #late: { readonly page: unknown; readonly clicks: readonly FileClicks[]; readonly reader: ClickReader }[] =
    []
  #pageReader: ClickReader | null = null

  constructor(kind: 'json' | 'sql', table: SourceTable, options: Options) {
    this.#kind = kind
    this.#table = table
    this.#options = options
  }

  async *read(first: readonly FileRecord[], rest: AsyncIterable<FileRecord>): AsyncGenerator<FileItem> {
    let isEmpty = true
    for await (const record of inOrder(first, rest)) {
      const row = this.#read(record)
      if (row !== null) {
        isEmpty = false
        yield { row, cells: null }
      }
      if (this.#hours.isFull) yield* itemsOf(this.#hours.take())
    }
    if (isEmpty) throw missingRows()
    yield* itemsOf(this.#hours.take())
    for (const { page, clicks, reader } of this.#late) {
      const address = reader.addressOf(page) ?? nobody
      yield* itemsOf(clicks.map((each) => ({ ...each, address })))
    }
  }

  #read(record: FileRecord): FileRow | null {
    if (record.isPage) {
      const clicks = this.#pageHours.take()
      if (this.#pageReader !== null && clicks.length > 0) {
        this.#late.push({ page: record.value, clicks, reader: this.#pageReader })
      }
      return null
    }
    const reader = this.#readerOf(record)
    if (reader === null) return null
    if ('rows' in reader) return reader.rows.read(record.value, record.line)
    if ('clicks' in reader) {
      const address = reader.clicks.addressOf(record.value)
      this.#pageReader = reader.clicks
      reader.clicks.read(record.value, address ?? nobody, address === null ? this.#pageHours : this.#hours)
    } else this.#references.hosts.set(keyOf(reader.key, record.value), textOf(reader.host?.(record.value)))
    return null
  }

  /** Returns how records of a group are read; null if they are not. Throws if their table belongs to another source. */
  #readerOf(record: FileRecord): Reader | null {
    let reader = this.#readers.get(record.group)
    if (reader === undefined) {
      reader = this.#newReader(record)
      this.#readers.set(record.group, reader)
    }
    return reader
  }

  #newReader(record: FileRecord): Reader | null {
    const { times, tables, generatesAliases } = this.#options
    const isJson = this.#kind === 'json'
    const found = isJson ? listFormat(this.#table, record.list) : formatOf(record, this.#kind, tables)
    if (found === null) return null
    if (found.table !== this.#table) throw ambiguousFormat([this.#table, found.table])
    const { table, format } = found
    const { find } = record
    const zoned = format.timeZone === undefined ? times : new FileTimes(format.timeZone)
    if (format.clicks !== undefined) return { clicks: new ClickReader(format.clicks, find, zoned, this.#references) }
    if (format.hosts !== undefined) {
      const key = (format.key ?? []).map((name) => ({ get: find(name) ?? (() => null) }))
      return { key, host: find(format.hosts) }
    }
    const references = this.#references
    return { rows: new RowReader({ table, format, find, times: zoned, generatesAliases, references }) }
  }
}

/** The address of clicks that belong to no link: the root never is one. */
const nobody = addressOf('', '')

/** Returns the format of the records in a list. Each source has one for a list. */
function listFormat(table: SourceTable, list: string | undefined): Found | null {
  const format = table.formats.find((each) => each.kind === 'json' && (each.list ?? '') === list)
  return format === undefined ? null : { table, format }
}

function itemsOf(clicks: readonly FileClicks[]): FileItem[] {
  return clicks.map((each) => ({ clicks: each }))
}

async function* inOrder(first: readonly FileRecord[], rest: AsyncIterable<FileRecord>): AsyncGenerator<FileRecord> {
  yield* first
  yield* rest
}

async function* jsonRecords(text: AsyncIterable<string>): AsyncGenerator<FileRecord> {
  for await (const { list, value, isPage } of readJson(text)) {
    const has = (name: string) => Object.hasOwn(value, name)
    yield { group: list, list, names: Object.keys(value), has, find: findMember, value, line: null, isPage }
  }
}

/** Returns how to get a member of JSON. Dots lead into objects, and an asterisk stands for the rest of a name. */
function findMember(name: string): Get {
  if (name.endsWith('*')) {
    const start = name.slice(0, -1)
    return (value) => Object.entries(value as object).find(([key, each]) => key.startsWith(start) && isSet(each))?.[1]
  }
  const [key = '', ...path] = name.split('.')
  if (path.length === 0) return (value) => (value as Readonly<Record<string, unknown>>)[key]
  const inner = findMember(path.join('.'))
  return (value) => {
    const member = (value as Readonly<Record<string, unknown>>)[key]
    return typeof member === 'object' && member !== null ? inner(member) : null
  }
}

async function* sqlRecords(text: AsyncIterable<string>): AsyncGenerator<FileRecord> {
  let [columns, seen, find]: [readonly string[], ReadonlySet<string>, Find] = [[], new Set(), () => null]
  for await (const { table, columns: names, values, line } of readSql(text)) {
    if (names !== columns) {
      ;[columns, seen, find] = [names, new Set(names.map(normalized)), findCell(names)]
    }
    const own = seen
    const has = (name: string) => own.has(normalized(name))
    yield { group: `${table} ${names.join()}`, list: undefined, names, has, find, value: values, line, isPage: false }
  }
}
