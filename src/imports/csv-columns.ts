/** The columns of tables, and their fields. */
import { validationFailed } from '../errors.ts'
import { type MessageKey, Refusal } from '../violations.ts'
import type { FileColumn } from './file-row.ts'
import { normalized } from './records.ts'
import type { FieldNames, SourceTable } from './source-table.ts'
import { ignoredNames, namesOfFields } from './sources/csv.ts'

/** The fields that a column of a `csv` file can have. `short_url` is the whole address, `domain` the host before the `alias`. */
export const columnFields: readonly string[] = Object.keys(namesOfFields)

/** Columns with data of visitors. */
const privateNames = /(?:^|client|remote|user|visitor|your)ip$|ipaddr(?:ess)?$|^remoteaddr$|useragent$/

/** Returns whether a column is never read. */
export function isPrivate(name: string): boolean {
  return privateNames.test(normalized(name))
}

const passwordNames = /^(?!has).*(?:password|passphrase|passwd|kennwort|passwort)$/

/** Returns whether the cells of a column are not stored, because they may be passwords. */
export function isSecret({ name, field }: FileColumn): boolean {
  return field === 'redirect_password' || passwordNames.test(normalized(name))
}

const ignored = new Set(ignoredNames.map(normalized))

/** Returns the columns of a `csv` file with the fields that their names mean. Each field has at most one. */
export function guessColumns(names: readonly string[]): FileColumn[] {
  const known = names.map(normalized)
  const fields = new Map<number, string>()
  for (const [field, accepted] of Object.entries(namesOfFields)) {
    const at = accepted.map((name) => known.indexOf(normalized(name))).find((each) => each !== -1 && !fields.has(each))
    if (at !== undefined) fields.set(at, field)
  }
  return names.map((name, at) => {
    const isLeftOut = ignored.has(normalized(name)) || isPrivate(name)
    return { name, field: fields.get(at) ?? (isLeftOut ? '-' : null) }
  })
}

/** Returns the columns of another source's table with the fields that its names mean. */
export function describeColumns(table: SourceTable, names: readonly string[], shown: readonly string[]): FileColumn[] {
  const fields = new Map<string, string>()
  const add = (field: string, each: string) => {
    if (!fields.has(normalized(each))) fields.set(normalized(each), field)
  }
  for (const [field, list] of Object.entries(table.fields as FieldNames)) {
    for (const name of list) add(renamed[field] ?? field, typeof name === 'string' ? name : name[0])
  }
  for (const name of Object.values(table.losses ?? {}).flat()) add('-', name)
  const stars = [...fields.keys()].filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1))
  return names.map((name, at) => {
    const isKnown = isPrivate(name) || stars.some((start) => normalized(name).startsWith(start))
    return { name: shown[at] ?? name, field: fields.get(normalized(name)) ?? (isKnown ? '-' : null) }
  })
}

const renamed: Readonly<Record<string, string>> = { address: 'short_url', host: 'domain' }

/** What a user chooses about a `csv` file. */
export interface ColumnChoice {
  /** Fields by column name. '-' means that the import skips the column. */
  readonly columns: Readonly<Record<string, string>> | null
  /** Whether rows without an address get a generated alias. */
  readonly generateAliases: boolean
  /** Whether a table needs no column for the destination and the alias, because someone will choose them. False by default. */
  readonly isPartial?: boolean | undefined
}

/**
 * Returns the columns with the fields of `columns` in place of guesses. Throws `validation_failed` on `columns` for an unknown
 * column or field, and on `source` if a field is missing that every row needs.
 */
export function mapColumns(guessed: readonly FileColumn[], choice: ColumnChoice): readonly FileColumn[] {
  const chosen = new Map(
    Object.entries(choice.columns ?? {}).map(([name, field]) => [findColumn(guessed, name), field]),
  )
  const fields = [...chosen.values()].filter((field) => field !== '-')
  for (const [at, field] of chosen) {
    const name = shownName(guessed[at]?.name)
    if (field !== '-' && !columnFields.includes(field)) {
      throw invalid(new Refusal('not_allowed.column_field', { name, value: field, options: columnFields.join(', ') }))
    }
    if (field !== '-' && isPrivate(name)) throw invalid(new Refusal('not_allowed.column_private', { name }))
  }
  const twice = fields.find((field, at) => fields.indexOf(field) < at)
  if (twice !== undefined) throw invalid(new Refusal('not_allowed.column_twice', { value: twice }))
  const columns = guessed.map(({ name, field }, at) => {
    const isTaken = field !== null && fields.includes(field)
    return { name, field: chosen.get(at) ?? (isTaken ? null : field) }
  })
  if (choice.isPartial !== true) requireFields(columns, choice)
  return columns
}

function requireFields(columns: readonly FileColumn[], { generateAliases }: ColumnChoice): void {
  const seen = namesIn(columns.map(({ name }) => name))
  const has = (field: string) => columns.some((column) => column.field === field)
  const missing: MessageKey | null = !has('url')
    ? 'unknown_format.destination_column'
    : generateAliases || has('short_url') || has('alias')
      ? null
      : 'unknown_format.alias_column'
  if (missing !== null) throw validationFailed([new Refusal(missing, { seen }).at('source')])
}

function findColumn(columns: readonly FileColumn[], name: string): number {
  const at = columns.findIndex((column) => normalized(column.name) === normalized(name))
  if (at !== -1) return at
  const seen = namesIn(columns.map((column) => column.name))
  throw invalid(new Refusal('not_allowed.column', { name: shownName(name), seen }))
}

function invalid(refusal: Refusal) {
  return validationFailed([refusal.at('columns')])
}

const [maxNames, maxNameLength] = [20, 40]

function shownName(name = ''): string {
  return name.slice(0, maxNameLength).toWellFormed()
}

/** Returns the names of columns or keys for a message. */
export function namesIn(names: readonly string[]): string {
  const shown = names.slice(0, maxNames).map(shownName)
  return [...shown, ...(names.length > maxNames ? ['…'] : [])].join(', ') || 'nothing'
}
