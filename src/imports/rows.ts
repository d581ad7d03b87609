/** Turns the records of a source into rows. */
import { maxAddresses } from '../links/addresses.ts'
import { flags, linkFields } from '../links/fields.ts'
import { maxTitleLength, redirectStatuses } from '../links/link.ts'
import { normalized } from './csv-columns.ts'
import type { FileAddress, FileRow, LossKind, Refusal } from './file-row.ts'
import type { FieldNames, Format, Name, SourceTable } from './source-table.ts'
import {
  addressOf,
  type FileTimes,
  fitTags,
  fitText,
  flagOf,
  isSet,
  parseAddress,
  parseCount,
  storable,
  textOf,
} from './values.ts'

/** Returns the value of a record with this name; undefined if it has none. A record is an object of JSON or a list of cells. */
export type GetValue = (record: unknown, name: string) => unknown

/** Returns how to get a cell by the name of its column. An asterisk stands for the rest of a name. */
export function cellsOf(columns: readonly string[]): GetValue {
  const known = columns.map(normalized)
  const placesOf = (name: string) => {
    const isMeant = (column: string) =>
      name.endsWith('*') ? column.startsWith(normalized(name.slice(0, -1))) : column === normalized(name)
    return [...known.keys()].filter((at) => isMeant(known[at] ?? ''))
  }
  const places = new Map<string, readonly number[]>()
  return (record, name) => {
    const cells = record as readonly (string | null)[]
    const own = places.getOrInsertComputed(name, placesOf)
    if (name.endsWith('*')) return own.map((at) => cells[at]).find(isSet)
    return own[0] === undefined ? undefined : (cells[own[0]] ?? '')
  }
}

/** What later records of a file refer to. */
export class References {
  readonly addresses = new Map<string, FileAddress>()
  readonly hosts = new Map<string, string>()
}

export interface RowOptions {
  readonly table: SourceTable
  readonly format: Format
  readonly get: GetValue
  readonly times: FileTimes
  readonly generatesAliases: boolean
  readonly references: References
}

/** A row while it is read. */
interface Draft {
  readonly fields: Record<string, string>
  readonly losses: Set<LossKind>
  refusal: Refusal | null
}

const maxNotesLength = 2_000
/** More than any field takes. Longer texts are cut, and refused as too long. */
const maxTextLength = 32 * 1024
/** Fields that an empty cell clears. */
const clearable = ['text', 'lines', 'time', 'number', 'names', 'rules', 'url']

/** Reads rows of one format. Throws `validation_failed` if a time needs a zone. */
export class RowReader {
  readonly #options: RowOptions
  readonly #fields: readonly (keyof typeof linkFields & keyof FieldNames)[]
  readonly #losses: readonly (readonly [LossKind, readonly string[]])[]

  constructor(options: RowOptions) {
    this.#options = options
    const { fields, losses = {} } = options.table
    this.#fields = Object.keys(fields).filter((field) => field in linkFields && field !== 'alias') as 'url'[]
    this.#losses = Object.entries(losses) as (readonly [LossKind, readonly string[]])[]
  }

  /** Returns the row of a record. */
  read(record: unknown, line: number | null): FileRow {
    const { get, format, references, generatesAliases } = this.#options
    const draft: Draft = { fields: { url: '' }, losses: new Set(), refusal: null }
    const host = this.#host(record)
    const addresses = this.#addresses(record, host)
    if (format.key !== undefined && addresses[0] !== undefined) {
      references.addresses.set(keyOf(get, record, format.key), addresses[0])
    }
    if (addresses.length === 0 && !generatesAliases) {
      draft.refusal = { code: 'required', message: 'The row has no short link and no alias.' }
    }
    if (addresses.length > maxAddresses + 1) {
      draft.refusal = { code: 'too_many', message: `A link has at most ${maxAddresses} further addresses.` }
    }
    for (const field of this.#fields) this.#readField(draft, field, record)
    for (const [kind, names] of this.#losses) {
      if (names.some((name) => isSet(get(record, name)))) draft.losses.add(kind)
    }
    const created_at = this.#time(draft, this.#value('created_at', record))
    if (created_at === null) draft.losses.add('created_at')
    const clicks = this.#count(draft, this.#value('clicks', record))
    const bots = this.#count(draft, this.#value('bots', record))
    const { fields, losses, refusal } = draft
    return { line, addresses, host, fields, created_at, clicks, bots, losses: [...losses], refusal }
  }

  /** Returns the value of a field and the name of its column. The name is '' if the record has none of the columns. */
  #value(field: keyof FieldNames, record: unknown): readonly [value: unknown, name: string] {
    let known = ''
    for (const each of this.#options.table.fields[field] ?? []) {
      const [name, value] = this.#named(each, record)
      if (!isEmpty(value)) return [value, name]
      if (value !== undefined) known = name
    }
    return [null, known]
  }

  #named(each: Name, record: unknown): readonly [name: string, value: unknown] {
    const [name, read] = typeof each === 'string' ? [each] : each
    const value = this.#options.get(record, name)
    return [name, read === undefined || isEmpty(value) ? value : read(value)]
  }

  #host(record: unknown): string | null {
    const own = textOf(this.#value('host', record)[0])
    const { get, format, references } = this.#options
    const key = format.hostKey === undefined ? '' : textOf(get(record, format.hostKey))
    return parseAddress(own || (references.hosts.get(key) ?? key))?.host ?? null
  }

  #addresses(record: unknown, host: string | null): FileAddress[] {
    const found: FileAddress[] = []
    for (const each of this.#options.table.fields.address ?? []) {
      for (const value of [this.#named(each, record)[1]].flat()) {
        if (found.length > maxAddresses + 1) return found
        const address = parseAddress(textOf(value))
        const isNew =
          address !== null && !found.some((each) => each.host === address.host && each.path === address.path)
        if (isNew) found.push(address)
      }
    }
    if (found.length > 0) return found
    const alias = textOf(this.#value('alias', record)[0]).trim()
    return alias === '' ? [] : [addressOf(host ?? '', alias)]
  }

  #readField(draft: Draft, field: keyof typeof linkFields & keyof FieldNames, record: unknown): void {
    const found = this.#value(field, record)
    const { kind } = linkFields[field]
    // An edited table clears a field, while services leave out what they don't have.
    if (found[0] === null) {
      const isCleared = this.#options.table.source === 'csv' && found[1] !== '' && clearable.includes(kind)
      if (isCleared) draft.fields[field] = ''
      return
    }
    const text = this.#text(draft, field, found)
    if (text !== null) draft.fields[field] = text
  }

  /** Returns the text for the form of links; null if the row has none. */
  #text(draft: Draft, field: keyof typeof linkFields, found: readonly [value: unknown, name: string]): string | null {
    const [value] = found
    if (flags.includes(field)) return flagOf(value)
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
        const text = textOf(value)
        return this.#options.table.source === 'csv' || redirectStatuses.some((each) => String(each) === text)
          ? text
          : null
      }
      case 'rules':
        return typeof value === 'object' ? JSON.stringify(value) : textOf(value)
      default:
        return textOf(value).slice(0, maxTextLength)
    }
  }

  #tagSeparator(value: unknown): string {
    const { source, tagSeparator = ',' } = this.#options.table
    return source === 'csv' && textOf(value).includes('|') ? '|' : tagSeparator
  }

  #time(draft: Draft, [value, name]: readonly [value: unknown, name: string]): string | null {
    const time = this.#options.times.parse(value)
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

/** Returns the values of a record with these names as one text. */
export function keyOf(get: GetValue, record: unknown, names: readonly string[]): string {
  return names.map((name) => textOf(get(record, name))).join('\n')
}

function withLoss(draft: Draft, kind: 'title' | 'notes' | 'tags', fitted: ReturnType<typeof fitText>): string {
  if (fitted.isCut) draft.losses.add(kind)
  return fitted.text
}

const maxShown = 40

function refuse(draft: Draft, code: Refusal['code'], name: string, value: unknown, problem: string): void {
  const shown = storable(textOf(value).slice(0, maxShown))
  draft.refusal ??= { code, message: `${storable(name)}: “${shown}” ${problem}.` }
}
