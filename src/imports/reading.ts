/** Reads the files of an import, in a stream. Nothing is stored. */
import type { FileColumn, FileItem, FileRow, Source } from './file-row.ts'

export interface ReadingOptions {
  readonly source: Source | 'auto'
  /** Null: recognized by the first character. */
  readonly type: 'csv' | 'json' | 'ndjson' | 'sql' | null
  /** An IANA name or an offset such as `+02:00`, for times without one. */
  readonly timeZone: string | null
  /** Fields by the name of the column, for `csv` files. '-' leaves the column out. */
  readonly columns: Readonly<Record<string, string>> | null
  /** Whether rows without an address get a generated alias. */
  readonly generateAliases: boolean
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
  throw new Error(`not written yet: ${options.source} ${String(bytes)}`)
}

/** The fields that a column of a `csv` file can have. `short_url` is the whole address. */
export const columnFields: readonly string[] = ['url', 'short_url', 'domain', 'alias', 'title', 'notes', 'tags']

/** Returns the row of stored cells under other fields of their columns. Throws like `readFile`. */
export function readCells(
  columns: readonly FileColumn[],
  options: Pick<ReadingOptions, 'timeZone' | 'generateAliases'>,
): (cells: readonly string[], line: number | null) => FileRow {
  throw new Error(`not written yet: ${columns.length} ${options.timeZone}`)
}

/**
 * Returns the columns with the fields of `columns` in place of guesses. Throws `validation_failed` on `columns` for an unknown
 * column or field, and on `source` if a field is missing that every row needs.
 */
export function mapColumns(
  guessed: readonly FileColumn[],
  options: Pick<ReadingOptions, 'columns' | 'generateAliases'>,
): readonly FileColumn[] {
  throw new Error(`not written yet: ${guessed.length} ${options.generateAliases}`)
}
