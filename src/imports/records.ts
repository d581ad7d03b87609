/** Records of files: rows of CSV and of SQL dumps, and objects of JSON. Their values have names. */
import type { CsvRow } from '../lib/csv-rows.ts'
import { readJson } from './json-file.ts'
import { readSql } from './sql-file.ts'
import { isSet } from './values.ts'

export interface FileRecord {
  readonly kind: 'csv' | 'json' | 'sql'
  /** The list or the table that has the record. For JSON, it is the path, such as `shortUrls.data`. */
  readonly list: string
  /** The line on which the record starts, from 1. Null if the file has no lines, as in JSON. */
  readonly line: number | null
  /** By name. Names of columns are `normalized`. */
  readonly values: Readonly<Record<string, unknown>>
  /** The columns of a table, as the file names them. Rows can have more cells. */
  readonly columns?: readonly string[]
  readonly cells?: readonly (string | null)[]
  /** Whether it is a page of JSON, which follows the records of its lists. */
  readonly isPage?: boolean
}

/** Returns a name for comparisons: in lower case, without spaces, hyphens and underscores. */
export function normalized(name: string): string {
  return name.toLowerCase().replace(/[\s_-]+/g, '')
}

/** The normalized names that sources have. */
const knownNames = new Map<string, string>()

function recordKey({ kind }: FileRecord, name: string): string {
  return kind === 'json' ? name : knownNames.getOrInsertComputed(name, normalized)
}

/** Returns whether a record has a value with a name of a source. */
export function hasValue(record: FileRecord, name: string): boolean {
  return Object.hasOwn(record.values, recordKey(record, name))
}

/**
 * Returns the value of a record with a name of a source; undefined if it has none. In JSON, dots separate
 * nested keys. An asterisk stands for the rest of a name, and selects the first value that says something.
 */
export function readValue(record: FileRecord, name: string): unknown {
  const [key, { values }] = [recordKey(record, name), record]
  if (key.endsWith('*')) {
    const start = key.slice(0, -1)
    return Object.entries(values).find(([each, value]) => each.startsWith(start) && isSet(value))?.[1]
  }
  if (record.kind !== 'json') return values[key]
  let member: unknown = values
  for (const part of key.split('.')) {
    if (typeof member !== 'object' || member === null) return null
    member = (member as FileRecord['values'])[part]
  }
  return member
}

/** Returns a record's names for a message. */
export function listNames({ columns, values }: FileRecord): readonly string[] {
  return columns ?? Object.keys(values)
}

/** A table whose columns have these names. */
export class Table {
  readonly kind: 'csv' | 'sql'
  readonly list: string
  readonly columns: readonly string[]
  readonly #keys: readonly string[]

  constructor(kind: 'csv' | 'sql', list: string, columns: readonly string[]) {
    this.kind = kind
    this.list = list
    this.columns = columns
    this.#keys = columns.map(normalized)
  }

  /** Returns a row. Missing cells are empty. The first of several columns with the same name counts. */
  row(cells: readonly (string | null)[], line: number | null): FileRecord {
    const values = Object.create(null)
    for (const [at, key] of this.#keys.entries()) values[key] ??= cells[at] ?? ''
    return { kind: this.kind, list: this.list, line, values, columns: this.columns, cells }
  }
}

/** Yields the records of a JSON file, in batches. Throws `malformed_body`. */
export async function* jsonRecords(text: AsyncIterable<string>): AsyncGenerator<FileRecord[]> {
  for await (const records of readJson(text)) {
    yield records.map(({ list, value, isPage }) => ({ kind: 'json', list, line: null, values: value, isPage }))
  }
}

/** Yields the records of a dump, in batches. Throws the failures of `readSql`. */
export async function* sqlRecords(text: AsyncIterable<string>): AsyncGenerator<FileRecord[]> {
  const tables = new Map<string, Table>()
  // Each statement has its own list of names.
  let [last, current]: [readonly string[], Table] = [[], new Table('sql', '', [])]
  for await (const rows of readSql(text)) {
    yield rows.map(({ table, columns, values, line }) => {
      if (columns !== last) {
        const list = `${table} ${columns.join()}`
        ;[last, current] = [columns, tables.getOrInsertComputed(list, () => new Table('sql', list, columns))]
      }
      return current.row(values, line)
    })
  }
}

/** Yields CSV rows under these columns. Throws `malformed_body`. */
export async function* csvRecords(
  columns: readonly string[],
  rows: AsyncIterable<CsvRow>,
): AsyncGenerator<FileRecord[]> {
  const table = new Table('csv', '', columns)
  for await (const { cells, line } of rows) yield [table.row(cells, line)]
}
