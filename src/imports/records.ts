/** Reads the records of JSON files and SQL dumps. */
import { ClickHours, ClickReader } from './clicks.ts'
import { normalized } from './csv-columns.ts'
import type { FileClicks, FileItem, FileRow } from './file-row.ts'
import { readJson } from './json-file.ts'
import { ambiguousFormat, type Found, findFormat, hasAll, missingRows, unknownFormat } from './recognition.ts'
import { cellsOf, type GetValue, keyOf, References, type RowOptions, RowReader } from './rows.ts'
import type { SourceTable } from './source-table.ts'
import { readSql } from './sql-file.ts'
import { addressOf, FileTimes, isSet, textOf } from './values.ts'

interface Options extends Pick<RowOptions, 'times' | 'generatesAliases'> {
  readonly tables: readonly SourceTable[]
  readonly kind: 'json' | 'sql'
}

/** Records with the same names: a list of JSON, or a table. */
interface Group {
  /** The path of a JSON list. */
  readonly list?: string
  readonly namesOf: (value: unknown) => readonly string[]
  readonly get: GetValue
}

interface FileRecord {
  readonly group: Group
  readonly value: unknown
  readonly line: number | null
  /** Whether it is the rest of a page of JSON, after its records. */
  readonly isPage: boolean
}

/** Records that are read to recognize a file: some of the first ones may lack a required key. */
const maxWaiting = 1_000

/** Returns the source of a file, and its rows and clicks. Throws `validation_failed` on `source` or `body`. */
export async function readRecords(
  text: AsyncIterable<string>,
  options: Options,
): Promise<{ readonly table: SourceTable; readonly items: AsyncIterable<FileItem> }> {
  const batches = options.kind === 'json' ? jsonRecords(text) : sqlRecords(text)
  let waiting: FileRecord[] = []
  for (;;) {
    const { value, done } = await batches.next()
    const batch: readonly FileRecord[] = done ? [] : value
    const found = batch.map((record) => formatOf(record, options)).find((each) => each !== null)
    // Dumps start with other tables, which may be long.
    waiting = options.kind === 'sql' && found === undefined ? waiting.concat(batch).slice(0, 1) : waiting.concat(batch)
    if (found !== undefined) {
      const { table } = found
      return { table, items: new RecordItems(table, options).read(waiting, batches) }
    }
    if (done || waiting.length >= maxWaiting) {
      const first = waiting.find(({ isPage }) => !isPage)
      throw first === undefined ? missingRows() : unknownFormat(first.group.namesOf(first.value))
    }
  }
}

function formatOf({ group, value, isPage }: FileRecord, { kind, tables }: Options): Found | null {
  if (isPage) return null
  const names = new Set(kind === 'sql' ? group.namesOf(value).map(normalized) : group.namesOf(value))
  return findFormat(tables, (format) => {
    const isThere = format.kind === kind && format.list === group.list
    return isThere && hasAll(format.requires, (name) => names.has(kind === 'sql' ? normalized(name) : name))
  })
}

type Reader =
  | { readonly rows: RowReader }
  | { readonly clicks: ClickReader }
  | { readonly key: readonly string[]; readonly host: string }

/** The address of clicks that belong to no link: the root never is one. */
const nobody = addressOf('', '')

/** Reads the records of a recognized file. */
class RecordItems {
  readonly #table: SourceTable
  readonly #options: Options
  readonly #references = new References()
  readonly #readers = new Map<Group, Reader | null>()
  readonly #hours = new ClickHours()
  /** Clicks of the current page, whose address is next to their list. */
  readonly #pageHours = new ClickHours()
  #pageReader: ClickReader | null = null
  /** Clicks whose links may follow. */
  readonly #late: (() => FileClicks[])[] = []

  constructor(table: SourceTable, options: Options) {
    this.#table = table
    this.#options = options
  }

  async *read(first: readonly FileRecord[], rest: AsyncIterable<readonly FileRecord[]>): AsyncGenerator<FileItem> {
    let isEmpty = true
    for await (const batch of inOrder(first, rest)) {
      for (const record of batch) {
        const row = this.#read(record)
        if (row === null) continue
        isEmpty = false
        yield { row, cells: null }
      }
      if (this.#hours.isFull) for (const clicks of this.#hours.take()) yield { clicks }
    }
    if (isEmpty) throw missingRows()
    const late = this.#late.flatMap((take) => take())
    for (const clicks of [...this.#hours.take(), ...late]) yield { clicks }
  }

  #read({ group, value, line, isPage }: FileRecord): FileRow | null {
    if (isPage) {
      this.#endPage(value)
      return null
    }
    const reader = this.#readerOf(group, value)
    if (reader === null) return null
    if ('rows' in reader) return reader.rows.read(value, line)
    if ('clicks' in reader) {
      const address = reader.clicks.addressOf(value)
      this.#pageReader = reader.clicks
      reader.clicks.read(value, address ?? nobody, address === null ? this.#pageHours : this.#hours)
    } else this.#references.hosts.set(keyOf(group.get, value, reader.key), textOf(group.get(value, reader.host)))
    return null
  }

  #endPage(page: unknown): void {
    const [clicks, reader] = [this.#pageHours.take(), this.#pageReader]
    if (clicks.length === 0) return
    this.#late.push(() => clicks.map((each) => ({ ...each, address: reader?.addressOf(page) ?? nobody })))
  }

  /** Returns how the records of a group are read; null if they are not. Throws if they belong to another source. */
  #readerOf(group: Group, value: unknown): Reader | null {
    let reader = this.#readers.get(group)
    if (reader === undefined) {
      reader = this.#newReader(group, value)
      this.#readers.set(group, reader)
    }
    return reader
  }

  #newReader(group: Group, value: unknown): Reader | null {
    const { times, generatesAliases, kind } = this.#options
    const sent = { group, value, line: null, isPage: false }
    const found = kind === 'json' ? listFormat(this.#table, group) : formatOf(sent, this.#options)
    if (found === null) return null
    if (found.table !== this.#table) throw ambiguousFormat([this.#table, found.table])
    const { table, format } = found
    const { get } = group
    const zoned = format.timeZone === undefined ? times : new FileTimes(format.timeZone)
    const references = this.#references
    if (format.clicks !== undefined) return { clicks: new ClickReader(format.clicks, get, zoned, references) }
    if (format.hosts !== undefined) return { key: format.key ?? [], host: format.hosts }
    return { rows: new RowReader({ table, format, get, times: zoned, generatesAliases, references }) }
  }
}

/** Returns the format of the records in a list: some of them may lack a required key. Each source has one for a list. */
function listFormat(table: SourceTable, { list }: Group): Found | null {
  const format = table.formats.find((each) => each.kind === 'json' && each.list === list)
  return format === undefined ? null : { table, format }
}

async function* inOrder(
  first: readonly FileRecord[],
  rest: AsyncIterable<readonly FileRecord[]>,
): AsyncGenerator<readonly FileRecord[]> {
  yield first
  yield* rest
}

async function* jsonRecords(text: AsyncIterable<string>): AsyncGenerator<FileRecord[]> {
  const groups = new Map<string, Group>()
  const groupOf = (list: string) => {
    const group = groups.get(list) ?? { list, namesOf: (value) => Object.keys(value as object), get: memberOf }
    groups.set(list, group)
    return group
  }
  for await (const records of readJson(text)) {
    yield records.map(({ list, value, isPage }) => ({ group: groupOf(list), value, line: null, isPage }))
  }
}

/** Returns a member of JSON. Dots lead into objects, and an asterisk stands for the rest of a name. */
function memberOf(value: unknown, name: string): unknown {
  if (name.endsWith('*')) {
    const start = name.slice(0, -1)
    return Object.entries(value as object).find(([key, each]) => key.startsWith(start) && isSet(each))?.[1]
  }
  let member = value
  for (const key of name.split('.')) {
    if (typeof member !== 'object' || member === null) return null
    member = (member as Readonly<Record<string, unknown>>)[key]
  }
  return member
}

async function* sqlRecords(text: AsyncIterable<string>): AsyncGenerator<FileRecord[]> {
  const groups = new Map<string, Group>()
  const groupOf = (table: string, columns: readonly string[]) => {
    const key = `${table} ${columns.join()}`
    const group = groups.get(key) ?? { namesOf: () => columns, get: cellsOf(columns) }
    groups.set(key, group)
    return group
  }
  // Each statement has a list of its own.
  let [last, group]: [readonly string[] | null, Group | null] = [null, null]
  for await (const rows of readSql(text)) {
    yield rows.map(({ table, columns, values, line }) => {
      if (group === null || last !== columns) [last, group] = [columns, groupOf(table, columns)]
      return { group, value: values, line, isPage: false }
    })
  }
}
