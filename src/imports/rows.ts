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

/** Returns a value of a record, which is an object of JSON or a list of cells. */
export type Get = (record: unknown) => unknown

/** Returns how to get the value with a name; null if no record has it. */
export type Find = (name: string) => Get | null

/** Returns how to get a cell by the name of its column. An asterisk stands for the rest of a name. */
export function findCell(columns: readonly string[]): Find {
  const known = columns.map(normalized)
  return (name) => {
    const start = name.endsWith('*') ? normalized(name.slice(0, -1)) : null
    const own = normalized(name)
    const found = [...known.keys()].filter((at) => (start === null ? known[at] === own : known[at]?.startsWith(start)))
    const [first] = found
    if (first === undefined) return null
    if (start === null) return (cells) => (cells as readonly (string | null)[])[first] ?? ''
    return (cells) => found.map((at) => (cells as readonly string[])[at]).find(isSet)
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
  readonly find: Find
  readonly times: FileTimes
  readonly generatesAliases: boolean
  readonly references: References
}

interface Column {
  readonly name: string
  readonly get: (record: unknown) => unknown
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
  readonly #columns: Readonly<Partial<Record<keyof FieldNames, readonly Column[]>>>
  readonly #fields: readonly (keyof typeof linkFields & keyof FieldNames)[]
  readonly #losses: readonly (readonly [LossKind, readonly Column[]])[]
  readonly #key: readonly Column[]
  readonly #hostKey: readonly Column[]

  constructor(options: RowOptions) {
    this.#options = options
    const { format, table, find } = options
    const columns = Object.entries(table.fields).map(([field, each]) => [field, columnsOf(find, each)] as const)
    this.#columns = Object.fromEntries(columns)
    this.#fields = columns.flatMap(([field, { length }]) =>
      length > 0 && field in linkFields && field !== 'alias' ? [field as 'url'] : [],
    )
    const losses = Object.entries(table.losses ?? {}).map(([kind, each]) => [kind, columnsOf(find, each)] as const)
    this.#losses = losses as (readonly [LossKind, readonly Column[]])[]
    this.#key = columnsOf(find, format.key ?? [])
    this.#hostKey = columnsOf(find, format.hostKey === undefined ? [] : [format.hostKey])
  }

  /** Returns the row of a record. */
  read(record: unknown, line: number | null): FileRow {
    const draft: Draft = { fields: { url: '' }, losses: new Set(), refusal: null }
    const host = this.#host(record)
    const addresses = this.#addresses(record, host)
    if (this.#key.length > 0 && addresses[0] !== undefined) {
      this.#options.references.addresses.set(keyOf(this.#key, record), addresses[0])
    }
    if (addresses.length === 0 && !this.#options.generatesAliases) {
      draft.refusal = { code: 'required', message: 'The row has no short link and no alias.' }
    }
    if (addresses.length > maxAddresses + 1) {
      draft.refusal = { code: 'too_many', message: `A link has at most ${maxAddresses} further addresses.` }
    }
    for (const field of this.#fields) this.#readField(draft, field, record)
    for (const [kind, columns] of this.#losses) {
      if (columns.some(({ get }) => isSet(get(record)))) draft.losses.add(kind)
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
    for (const { name, get } of this.#columns[field] ?? []) {
      const value = get(record)
      if (!isEmpty(value)) return [value, name]
      if (value !== undefined) known = name
    }
    return [null, known]
  }

  #host(record: unknown): string | null {
    const own = textOf(this.#value('host', record)[0])
    const key = this.#hostKey.map(({ get }) => textOf(get(record))).join()
    return parseAddress(own || (this.#options.references.hosts.get(key) ?? key))?.host ?? null
  }

  #addresses(record: unknown, host: string | null): FileAddress[] {
    const found: FileAddress[] = []
    for (const { get } of this.#columns.address ?? []) {
      for (const value of [get(record)].flat()) {
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

function columnsOf(find: Find, names: readonly Name[]): Column[] {
  return names.flatMap((each) => {
    const [name, read] = typeof each === 'string' ? [each, null] : each
    const get = find(name)
    if (get === null) return []
    const meaning = (value: unknown) => (isEmpty(value) ? null : read?.(value))
    return [{ name, get: read === null ? get : (record) => meaning(get(record)) }]
  })
}

function isEmpty(value: unknown): boolean {
  if (typeof value === 'string') return value.trim() === ''
  return value === null || value === undefined || (Array.isArray(value) && value.length === 0)
}

/** Returns the values of some columns as one text. */
export function keyOf(columns: readonly Pick<Column, 'get'>[], record: unknown): string {
  return columns.map(({ get }) => textOf(get(record))).join('\n')
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
