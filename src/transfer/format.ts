/**
 * The format of exports: JSON Lines with a header, one line for each record and each detail, and a last line with totals.
 * Records have their API fields.
 */
import { type Detail, InvalidRecord, idIn, type Members, type Store, type Transferable } from './transferable.ts'

/** Increase this if older versions would misread a file. */
export const formatVersion = 1

/** Counts of records by plural name. */
export type Totals = Readonly<Record<string, number>>

/** A valid line with a record, which has its id at the source. */
export interface RecordEntry {
  readonly of: string
  readonly id: number | undefined
  readonly store: Store
}

/** A valid line. */
export type Entry = RecordEntry | { readonly detail: Detail; readonly item: unknown } | { readonly end: Totals }

/** Formats a line. */
export function lineOf(members: object): string {
  return `${JSON.stringify(members)}\n`
}

/** Returns the source database's id from the header. Throws `InvalidRecord`. */
export function sourceIn(text: string, transferables: readonly (Transferable | Detail)[]): string {
  for (const kind of transferables) {
    if ('spreadsheet' in kind && text.startsWith(kind.spreadsheet.head))
      throw new InvalidRecord(kind.spreadsheet.isNone)
  }
  const { waymark_export: version, source } = objectFrom(text) ?? {}
  if (typeof version !== 'number')
    throw new InvalidRecord('is not an export of Waymark: its first line is not a header')
  if (version !== formatVersion)
    throw new InvalidRecord(`has format ${version}; this version of Waymark reads ${formatVersion}`)
  if (typeof source !== 'string' || !/^[\w.:-]{1,100}$/.test(source)) {
    throw new InvalidRecord('does not say which database it is from: its header needs a "source"')
  }
  return source
}

/** Reads any other line by the rules of the API. Throws `InvalidRecord`. */
export function readEntry(text: string, transferables: readonly (Transferable | Detail)[]): Entry {
  const [[name, value] = [], ...others] = Object.entries(objectFrom(text) ?? {})
  const kind = transferables.find(({ singular }) => singular === name)
  if (others.length > 0 || !isObject(value) || (kind === undefined && name !== 'end')) {
    const names = transferables.map(({ singular }) => `"${singular}"`).join(', ')
    throw new InvalidRecord(`The line is not a JSON object with one member: ${names} or "end".`)
  }
  if (kind === undefined) return { end: totalsFrom(value) }
  if ('pages' in kind) return { detail: kind, item: kind.read(value) }
  return { of: kind.plural, id: idIn(value), store: kind.read(value) }
}

function totalsFrom(value: Members): Totals {
  const areCounts = Object.values(value).every((total) => Number.isSafeInteger(total) && Number(total) >= 0)
  if (!areCounts) throw new InvalidRecord('The "end" does not count the records of each kind.')
  return value as Totals
}

function objectFrom(text: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export interface Line {
  /** The first line is 1. */
  readonly number: number
  /** Null if the line is too long or not UTF-8. */
  readonly text: string | null
}

/** The limit of request bodies, in bytes. */
const maxLineLength = 64 * 1024
const lineFeed = 0x0a

/** Yields the lines of a file. Buffers only one line. */
export async function* readLines(parts: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  const pending = new PendingLine()
  let number = 0
  for await (const part of parts) {
    let start = 0
    for (let end = part.indexOf(lineFeed); end >= 0; end = part.indexOf(lineFeed, start)) {
      pending.add(part.subarray(start, end))
      number += 1
      yield { number, text: pending.take() }
      start = end + 1
    }
    pending.add(part.subarray(start))
  }
  if (!pending.isEmpty) yield { number: number + 1, text: pending.take() }
}

class PendingLine {
  #parts: Buffer[] = []
  #length = 0

  get isEmpty(): boolean {
    return this.#length === 0
  }

  add(part: Buffer): void {
    this.#length += part.length
    if (this.#length > maxLineLength) this.#parts = []
    else if (part.length > 0) this.#parts.push(part)
  }

  take(): string | null {
    const text = this.#length > maxLineLength ? null : decode(Buffer.concat(this.#parts))
    this.#parts = []
    this.#length = 0
    return text
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true })

function decode(bytes: Buffer): string | null {
  try {
    return decoder.decode(bytes)
  } catch {
    return null
  }
}
