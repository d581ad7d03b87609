/** Files with new links: their columns, and the links of their rows. */
import { domainToASCII } from 'node:url'
import { promisify } from 'node:util'
import { deflateRaw, inflateRaw, type ZlibOptions } from 'node:zlib'
import { findTimeZones } from '../accounts/store.ts'
import { currentTimeZone, parseTimeZones } from '../accounts/time-zones.ts'
import { positiveInteger } from '../forms/rules.ts'
import { type Fields, maxFields } from '../http/form-encoding.ts'
import { csvRow, parseCsv } from '../lib/csv.ts'
import { Ticks } from '../lib/ticks.ts'
import type { Db } from '../storage/port.ts'
import type { LinkRules } from './actions.ts'
import { findExcess, maxBytes, maxRows } from './bulk-schema.ts'
import { linkFields } from './fields.ts'
import { isFilled, readRows } from './import-rows.ts'
import { type CheckedLink, checkNewLinks } from './new-links.ts'
import { linkLabels, storeLink } from './schema.ts'
import { findLinkDomain, findLinkSpace } from './store.ts'

/** The rows of a file. Each has at least one cell per column; more cells are an error. */
export interface ImportFile {
  /** Names of fields. */
  readonly columns: readonly string[]
  /** The names of the columns in the file. */
  readonly headers: readonly string[]
  readonly rows: readonly ImportRow[]
}

export interface ImportRow {
  /** The number that a spreadsheet shows. */
  readonly number: number
  readonly cells: readonly string[]
}

/** The column with the number of a row in packed files. */
const numberColumn = '#'
/** The column of a short link, whose parts become a domain and an alias. */
const shortUrlColumn = 'short_url'
/** The column that says whether a link has a password, which no file contains. */
export const passwordColumn = 'Has a password'

/** Field names by other column names: labels, and names that other services use. */
const fieldNames: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(linkLabels).map(([field, label]) => [normalized(label), field])),
  ...Object.fromEntries(Object.keys(storeLink.fields).map((field) => [field, field])),
  ...{ long_url: 'url', target_url: 'url', link: shortUrlColumn, short_link: shortUrlColumn, slug: 'alias' },
  ...{ has_redirect_password: 'has_redirect_password', [shortUrlColumn]: shortUrlColumn, [numberColumn]: numberColumn },
  [normalized(passwordColumn)]: 'has_redirect_password',
}

/** A character of Windows-1252 can have three bytes in UTF-8, and each row gets its number. */
const maxUnpackedBytes = 4 * maxBytes

/** Columns that the server assigns, in files of the API and of the dashboard. */
const assignedColumns = [
  ...storeLink.ignored,
  'clicks_(30_days)',
  'total_clicks',
  'last_click',
  'created',
  numberColumn,
]

interface ReadingOptions {
  readonly storage: Db
  readonly account: number
  /** Whether unknown columns are ignored, or how the user can choose that: continues "Rename it, or". */
  readonly unknownColumns: { readonly isSkipped: boolean; readonly advice: string }
  /** Whether `unpackFile` has returned the text. */
  readonly isUnpacked?: boolean
  /** The most rows below the names of the columns; by default, as many as a bulk request may have. */
  readonly mostRows?: number
}

/** Parses the text of a file, or a list of URLs. Returns a sentence for the user if that is impossible. */
export async function parseFile(text: string, options: ReadingOptions): Promise<ImportFile | string> {
  const read = await readRows(text)
  if (typeof read === 'string') return read
  const { names, rows } = read
  if (names.length > maxFields)
    return `There are more than ${maxFields} columns. Delete the columns that links don’t have.`
  const longRow = rows.find(({ cells }) => cells.length > maxFields)
  if (longRow !== undefined) return `Row ${longRow.number}: ${findExcess(longRow.cells, names)?.at('csv').message}`
  const fields = names.map((name) => (name === numberColumn && !options.isUnpacked ? null : fieldNamed(name)))
  return problemIn(names, fields, read.total, options) ?? fileOf({ names, fields }, rows, options)
}

function normalized(name: string): string {
  return name
    .trim()
    .toLowerCase()
    .replace(/[\s_-]+/g, '_')
}

/** Returns the field name for a column name; null if there is none. */
function fieldNamed(name: string): string | null {
  const known = normalized(name)
  return Object.hasOwn(fieldNames, known) ? (fieldNames[known] ?? null) : null
}

function problemIn(
  names: readonly string[],
  fields: readonly (string | null)[],
  rows: number,
  { unknownColumns, mostRows = maxRows }: ReadingOptions,
): string | null {
  if (names.length === 0)
    return 'There are no rows. The first row must name the columns, such as Destination and Alias.'
  const unknown = names.filter((name, at) => fields[at] === null && !assignedColumns.includes(normalized(name)))
  const known = `The columns can be: ${Object.values(linkLabels).join(', ')}.`
  if (!fields.includes('url'))
    return `No column is named Destination. The first row must name the columns, but is: ${namesIn(names)}. ${known}`
  if (!unknownColumns.isSkipped && unknown.length > 0) {
    const [subject, verb, them] = unknown.length === 1 ? ['The column', 'is', 'it'] : ['The columns', 'are', 'them']
    return `${subject} ${namesIn(unknown)} ${verb} unknown. Rename or delete ${them}, or ${unknownColumns.advice}. ${known}`
  }
  const twice = fields.find((field, at) => field !== null && fields.indexOf(field) < at)
  if (twice) return `Two columns have the field ${linkLabels[twice as keyof typeof linkLabels] ?? twice}. Delete one.`
  if (rows === 0) return 'There are no rows below the names of the columns.'
  if (rows <= mostRows) return null
  const files = Math.ceil(rows / mostRows)
  return `There are ${rows.toLocaleString('en-US')} rows, and one import takes up to ${mostRows.toLocaleString('en-US')}. Split the file into ${files} files.`
}

function namesIn(names: readonly string[]): string {
  const shown = names.slice(0, 5).map((name) => (isFilled(name) ? `“${name.slice(0, 40)}”` : 'without a name'))
  return shown.join(', ')
}

async function fileOf(
  { names, fields }: { readonly names: readonly string[]; readonly fields: readonly (string | null)[] },
  rows: readonly ImportRow[],
  { storage, account }: ReadingOptions,
): Promise<ImportFile> {
  const splits = fields.includes(shortUrlColumn) && !fields.includes('alias')
  const added = splits ? ['alias', ...(fields.includes('domain_id') ? [] : ['domain_id'])] : []
  const isOwn = (field: string | null) => field !== null && field !== numberColumn && field !== shortUrlColumn
  const columns = [...fields.filter(isOwn), ...added] as string[]
  const headers = [...names.filter((_, at) => isOwn(fields[at] ?? null)), ...added]
  const ownHost = cached(async (host) => {
    return (await findLinkDomain(storage, account, domainToASCII(host))) === undefined ? '' : host
  })
  const read: ImportRow[] = []
  for (const { number, cells } of rows) {
    const values = new Map(fields.map((field, at) => [field, cells[at] ?? '']))
    if (splits) await splitShortUrl(values, ownHost)
    const extra = cells.slice(fields.length)
    read.push({
      number: Number(values.get(numberColumn) ?? number),
      cells: [...columns.map((column) => values.get(column) ?? ''), ...(extra.some(isFilled) ? extra : [])],
    })
  }
  return { columns, headers, rows: read }
}

/** Sets the alias of a short link, and its domain if the account has it. `ownHost` returns '' for other hosts. */
async function splitShortUrl(
  values: Map<string | null, string>,
  ownHost: (host: string) => Promise<string>,
): Promise<void> {
  const [, host = '', alias] =
    /^(?:https?:\/\/)?([^/:]+)(?::\d+)?\/(.+)$/i.exec(values.get(shortUrlColumn)?.trim() ?? '') ?? []
  values.set('alias', alias ?? '')
  if (!values.get('domain_id')) values.set('domain_id', await ownHost(host))
}

/** Returns the text of a file for a form, compressed, so that the page stays small. */
export async function packFile({ columns, rows }: Pick<ImportFile, 'columns' | 'rows'>): Promise<string> {
  const lines = rows.map(({ number, cells }) => csvRow([number, ...cells]))
  const packed = await promisify(deflateRaw)(csvRow([numberColumn, ...columns]) + lines.join(''))
  return packed.toString('base64url')
}

/** Returns the text that `packFile` has packed, for `parseFile`. Any other text is an empty file. */
export async function unpackFile(packed: string): Promise<string> {
  const limits = { maxOutputLength: maxUnpackedBytes }
  return promisify<Buffer, ZlibOptions, Buffer>(inflateRaw)(Buffer.from(packed, 'base64url'), limits).then(
    String,
    () => '',
  )
}

const correctionName = /^row-(\d{1,8})-(\w+)$/

/** Returns the name of the control for a cell; `csv` stands for the whole row. */
export function controlName({ number }: ImportRow, field: string): string {
  return `row-${number}-${field}`
}

/** Returns the cells of the first row of a CSV text. Any other text is one cell. */
async function cellsIn(text: string): Promise<readonly string[]> {
  const rows = await parseCsv(text)
  const [row = [text]] = typeof rows === 'string' ? [] : rows
  return row.length > maxFields ? [text] : row
}

/** Replaces the cells that have a control in the form by its value. */
export async function withCorrections({ columns, headers, rows }: ImportFile, form: Fields): Promise<ImportFile> {
  const names = [...columns]
  const corrected = new Map(rows.map(({ number, cells }) => [number, [...cells]]))
  for (const [control, value] of Object.entries(form)) {
    const [, number, field = ''] = correctionName.exec(control) ?? []
    const cells = corrected.get(Number(number))
    if (cells === undefined || typeof value !== 'string') continue
    if (field === 'csv') {
      corrected.set(Number(number), [...(await cellsIn(value))])
    } else if (Object.hasOwn(storeLink.fields, field)) {
      if (!names.includes(field)) names.push(field)
      cells[names.indexOf(field)] = value
    }
  }
  // A new column leaves gaps in the other rows.
  const cellsOf = (number: number) => Array.from(corrected.get(number) ?? [], (cell) => cell ?? '')
  return {
    columns: names,
    headers: [...headers, ...names.slice(headers.length)],
    rows: rows.map(({ number }) => ({ number, cells: cellsOf(number) })),
  }
}

/** How users write values. */
interface Writing {
  /** Completes a URL without a scheme. */
  readonly completeUrl: (text: string) => string
  /** The time zone of dates and times without one. */
  readonly timeZone: string
}

/** Returns the kind of a column's values. */
function kindOf(column: string) {
  return column === 'has_redirect_password' ? 'flag' : linkFields[column as keyof typeof linkFields]?.kind
}

/** Returns the fields of a row as users mean them: a URL may lack `https://`, and spreadsheets write TRUE and 31.12.2026. */
function fieldsIn(columns: readonly string[], { cells }: ImportRow, writing: Writing): Record<string, string> {
  return Object.fromEntries(
    columns.map((column, at) => {
      const cell = cells[at] ?? ''
      const kind = kindOf(column)
      if (kind === 'url') return [column, writing.completeUrl(cell)]
      if (kind === 'time') return [column, isoTime(cell, writing.timeZone, column === 'active_period_end_at')]
      return [column, kind === 'flag' ? cell.toLowerCase() : cell]
    }),
  )
}

const spreadsheetTime =
  /^\s*(?:(\d{1,2})\.(\d{1,2})\.(\d{4})|(\d{4})-(\d\d)-(\d\d))(?:,? +(\d{1,2}):(\d\d)(?::(\d\d))?)?\s*$/

/**
 * Returns a time in the time zone as RFC 3339; other text unchanged. Dates with dots have the day first in every country. A
 * date without a time is the start of that day; as the end of a period, it is its end.
 */
function isoTime(text: string, timeZone: string, isEnd: boolean): string {
  const parts = spreadsheetTime.exec(text)?.slice(1)
  if (parts === undefined) return text
  const [day, month, year, isoYear, isoMonth, isoDay, hour, minute, second] = parts.map((part) =>
    part?.padStart(2, '0'),
  )
  const date = `${year ?? isoYear}-${month ?? isoMonth}-${day ?? isoDay}`
  try {
    if (hour !== undefined) {
      const local = Temporal.PlainDateTime.from(`${date}T${hour}:${minute}:${second ?? '00'}`)
      return local.toZonedDateTime(timeZone).toInstant().toString()
    }
    const first = Temporal.PlainDate.from(date)
    return first
      .add({ days: isEnd ? 1 : 0 })
      .toZonedDateTime(timeZone)
      .toInstant()
      .toString()
  } catch {
    return text
  }
}

export interface CheckedRow {
  readonly row: ImportRow
  /** The fields of a request that stores the link. */
  readonly fields: Fields
  readonly link: CheckedLink
}

export type ReadyRow = CheckedRow & { readonly link: Exclude<CheckedLink, { readonly violations: unknown }> }

/** Returns whether the alias of a row is taken by a stored link, and nothing else is wrong. */
export function isStored({ link }: CheckedRow): boolean {
  return 'violations' in link && link.violations.every(({ refusal }) => refusal.key === 'taken.alias')
}

export function isReady(row: CheckedRow): row is ReadyRow {
  return !('violations' in row.link)
}

interface RowParts extends Pick<Writing, 'completeUrl'>, Partial<Pick<Writing, 'timeZone'>> {
  readonly storage: Db
  readonly rules: LinkRules
}

/** The account, and the values of rows without a domain or a space. */
interface ImportDefaults {
  readonly account: number
  readonly domain_id: unknown
  readonly space_id: unknown
}

/**
 * Checks the rows of a file as `checkNewLinks` does. A domain or a space may have a name instead of an id. Times without
 * a zone are in the account's zone by default.
 */
export async function checkRows(
  { columns, rows }: Pick<ImportFile, 'columns' | 'rows'>,
  { account, domain_id, space_id }: ImportDefaults,
  { storage, rules, completeUrl, ...given }: RowParts,
): Promise<CheckedRow[]> {
  const timeZone = given.timeZone ?? currentTimeZone(parseTimeZones(await findTimeZones(storage, account)))
  const finders = { domain_id: domainFinder(account, storage), space_id: spaceFinder(account, storage) }
  const all: Fields[] = []
  const ticks = new Ticks()
  for (const row of rows) {
    const fields = fieldsIn(columns, row, { completeUrl, timeZone })
    const domain = await finders.domain_id((fields.domain_id || String(domain_id ?? '')).trim())
    const space = await finders.space_id((fields.space_id || String(space_id ?? '')).trim())
    all.push({ ...fields, domain_id: domain, space_id: space })
    await ticks.next()
  }
  const links = await checkNewLinks(storage, account, all, rules)
  return rows.map((row, at) => {
    const excess = findExcess(row.cells, columns)
    const link = excess === null ? (links[at] as CheckedLink) : { violations: [excess.at('csv')] }
    return { row, fields: all[at] as Fields, link }
  })
}

/** Returns a function that returns the id of a domain with this id or host name; other text unchanged. */
function domainFinder(account: number, db: Db) {
  return cached(async (text) => {
    const id = positiveInteger(text)
    if (id !== undefined && (await findLinkDomain(db, account, id)) !== undefined) return text
    const [, host = ''] = /^(?:https?:\/\/)?([^/:]*)/i.exec(text) ?? []
    return String((await findLinkDomain(db, account, domainToASCII(host)))?.id ?? text)
  })
}

/** Returns a function that returns the id of a space with this id or, case-insensitively, this name; other text unchanged. */
function spaceFinder(account: number, db: Db) {
  return cached(async (text) => {
    const id = positiveInteger(text)
    const found = id === undefined ? undefined : await findLinkSpace(db, account, id)
    return String(found ?? (await findLinkSpace(db, account, text.normalize())) ?? text)
  })
}

/** Returns a function that looks up each text once. */
function cached(find: (text: string) => Promise<string>): (text: string) => Promise<string> {
  const found = new Map<string, Promise<string>>([['', Promise.resolve('')]])
  return (text) => found.getOrInsertComputed(text, find)
}
