/** Turns records into rows. */
import { maxAddresses } from '../links/addresses.ts'
import { flags, linkFields } from '../links/fields.ts'
import { maxTitleLength, redirectStatuses } from '../links/link.ts'
import type { FileAddress, FileRow, LossKind, ReadingError } from './file-row.ts'
import type { Found } from './recognition.ts'
import { type FileRecord, readValue } from './records.ts'
import type { FieldNames, Format, Name, SourceTable } from './source-table.ts'
import {
  buildAddress,
  FileTimes,
  fitTags,
  fitText,
  isSet,
  parseAddress,
  parseCount,
  parseFlag,
  storable,
  toText,
} from './values.ts'

export interface RowOptions {
  /** The zone of times without an offset. */
  readonly timeZone: string | null
  readonly generateAliases: boolean
}

/** A row while it is read. */
interface Draft {
  readonly fields: Record<string, string>
  readonly losses: Set<LossKind>
  refusal: ReadingError | null
}

const maxNotesLength = 2_000
/** More than any field takes. Longer texts are cut, and refused as too long. */
const maxTextLength = 32 * 1024
/** Fields that an empty cell clears. */
const clearable = ['text', 'lines', 'time', 'number', 'names', 'rules', 'url']

/** Reads the rows of one format. Throws `validation_failed` if a time needs a zone. */
export class RowReader {
  readonly #table: SourceTable
  readonly #format: Format
  readonly #times: FileTimes
  readonly #generatesAliases: boolean
  readonly #hosts: ReadonlyMap<string, string>
  readonly #fields: readonly (keyof typeof linkFields & keyof FieldNames)[]
  readonly #losses: readonly (readonly [LossKind, readonly string[]])[]

  /** `hosts` come from another table of the file, by the value of `format.hostKey`. More may follow while rows are read. */
  constructor(
    { table, format }: Found,
    { timeZone, generateAliases }: RowOptions,
    hosts: ReadonlyMap<string, string> = new Map(),
  ) {
    this.#table = table
    this.#format = format
    this.#times = new FileTimes(format.timeZone ?? timeZone)
    this.#generatesAliases = generateAliases
    this.#hosts = hosts
    this.#fields = Object.keys(table.fields).filter((field) => field in linkFields && field !== 'alias') as 'url'[]
    this.#losses = Object.entries(table.losses ?? {}) as (readonly [LossKind, readonly string[]])[]
  }

  /** Turns a record into a row. */
  read(record: FileRecord): FileRow {
    const draft: Draft = { fields: { url: '' }, losses: new Set(), refusal: null }
    const host = this.#host(record)
    const addresses = this.#addresses(record, host)
    if (addresses.length === 0 && !this.#generatesAliases) {
      draft.refusal = { code: 'required', message: 'The row has no short link and no alias.' }
    }
    if (addresses.length > maxAddresses + 1) {
      draft.refusal = { code: 'too_many', message: `A link has at most ${maxAddresses} further addresses.` }
    }
    for (const field of this.#fields) this.#readField(draft, field, record)
    for (const [kind, names] of this.#losses) {
      if (names.some((name) => isSet(readValue(record, name)))) draft.losses.add(kind)
    }
    const created_at = this.#time(draft, this.#value('created_at', record))
    if (created_at === null) draft.losses.add('created_at')
    const clicks = this.#count(draft, this.#value('clicks', record))
    const bots = this.#count(draft, this.#value('bots', record))
    if (findExtraCell(record) !== undefined) {
      const message = `The row has more cells than the ${record.columns?.length} columns. Put cells with separators in double quotes.`
      draft.refusal = { code: 'extra_cells', message }
    }
    const { fields, losses, refusal } = draft
    return { line: record.line, addresses, host, fields, created_at, clicks, bots, losses: [...losses], refusal }
  }

  /** Returns the key by which clicks refer to a record; null if none do. */
  reference(record: FileRecord): string | null {
    return this.#format.key === undefined ? null : readKey(record, this.#format.key)
  }

  /** Returns the value of a field and the name of its column. The name is '' if the record has none of the columns. */
  #value(field: keyof FieldNames, record: FileRecord): readonly [value: unknown, name: string] {
    let known = ''
    for (const each of this.#table.fields[field] ?? []) {
      const [name, value] = this.#named(each, record)
      if (!isEmpty(value)) return [value, name]
      if (value !== undefined) known = name
    }
    return [null, known]
  }

  #named(each: Name, record: FileRecord): readonly [name: string, value: unknown] {
    const [name, read] = typeof each === 'string' ? [each] : each
    const value = readValue(record, name)
    return [name, read === undefined || isEmpty(value) ? value : read(value)]
  }

  #host(record: FileRecord): string | null {
    const own = toText(this.#value('host', record)[0])
    const { hostKey } = this.#format
    const key = hostKey === undefined ? '' : toText(readValue(record, hostKey))
    return parseAddress(own || (this.#hosts.get(key) ?? key))?.host ?? null
  }

  #addresses(record: FileRecord, host: string | null): FileAddress[] {
    const found: FileAddress[] = []
    for (const each of this.#table.fields.address ?? []) {
      for (const value of [this.#named(each, record)[1]].flat()) {
        if (found.length > maxAddresses + 1) return found
        const address = parseAddress(toText(value))
        const isNew =
          address !== null && !found.some((each) => each.host === address.host && each.path === address.path)
        if (isNew) found.push(address)
      }
    }
    if (found.length > 0) return found
    const alias = toText(this.#value('alias', record)[0]).trim()
    return alias === '' ? [] : [buildAddress(host ?? '', alias)]
  }

  #readField(draft: Draft, field: keyof typeof linkFields & keyof FieldNames, record: FileRecord): void {
    const found = this.#value(field, record)
    const { kind } = linkFields[field]
    // An edited table clears a field, while services leave out what they don't have.
    if (found[0] === null) {
      const isCleared = this.#table.source === 'csv' && found[1] !== '' && clearable.includes(kind)
      if (isCleared) draft.fields[field] = ''
      return
    }
    const text = this.#text(draft, field, found)
    if (text !== null) draft.fields[field] = text
  }

  /** Returns the text for the form of links; null if the row has none. */
  #text(draft: Draft, field: keyof typeof linkFields, found: readonly [value: unknown, name: string]): string | null {
    const [value] = found
    if (flags.includes(field)) return parseFlag(value)
    switch (field) {
      case 'title':
        return withLoss(draft, field, fitText(value, maxTitleLength, false))
      case 'notes':
        return withLoss(draft, field, fitText(value, maxNotesLength, true))
      case 'tags':
        return withLoss(draft, field, fitTags(value, this.#tagSeparator(value)))
      case 'active_period_start_at':
      case 'active_period_end_at':
        return this.#time(draft, found)
      case 'clicks_limit':
        // Services have 0 for none.
        return String(this.#count(draft, found) || '') || null
      case 'redirect_status': {
        const text = toText(value)
        return this.#table.source === 'csv' || redirectStatuses.some((each) => String(each) === text) ? text : null
      }
      case 'rules':
        return typeof value === 'object' ? JSON.stringify(value) : toText(value)
      default:
        return toText(value).slice(0, maxTextLength)
    }
  }

  #tagSeparator(value: unknown): string {
    const { source, tagSeparator = ',' } = this.#table
    return source === 'csv' && toText(value).includes('|') ? '|' : tagSeparator
  }

  #time(draft: Draft, [value, name]: readonly [value: unknown, name: string]): string | null {
    const time = this.#times.parse(value)
    if (time !== undefined) return time
    refuse(draft, 'invalid_time', name, value, 'is not a time such as 2026-11-20T12:00:00Z or 2026-11-20 12:00')
    return null
  }

  #count(draft: Draft, [value, name]: readonly [value: unknown, name: string]): number | null {
    const count = parseCount(value)
    if (count !== undefined) return count
    refuse(draft, 'invalid_count', name, value, 'is not a number such as 1234 or 1,234')
    return null
  }
}

function isEmpty(value: unknown): boolean {
  if (typeof value === 'string') return value.trim() === ''
  return value === null || value === undefined || (Array.isArray(value) && value.length === 0)
}

/** Returns the first cell without a column, unless all are empty. */
export function findExtraCell({ cells = [], columns = [] }: FileRecord): string | undefined {
  return cells.slice(columns.length).find((cell) => cell !== null && cell.trim() !== '') ?? undefined
}

/** More than any key has. */
const maxKeyLength = 600

/** Returns the values with these names as one text. */
export function readKey(record: FileRecord, names: readonly string[]): string {
  return storable(names.map((name) => toText(readValue(record, name)).slice(0, maxKeyLength)).join('\n'))
}

function withLoss(draft: Draft, kind: 'title' | 'notes' | 'tags', fitted: ReturnType<typeof fitText>): string {
  if (fitted.isCut) draft.losses.add(kind)
  return fitted.text
}

const maxShown = 40

function refuse(draft: Draft, code: ReadingError['code'], name: string, value: unknown, problem: string): void {
  const shown = storable(toText(value).slice(0, maxShown))
  draft.refusal ??= { code, message: `${storable(name)}: “${shown}” ${problem}.` }
}
