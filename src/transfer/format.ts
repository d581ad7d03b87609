/**
 * The file of an export: JSON Lines. The first line says what it is, the last how much there was, and each line between
 * them is one record as the API answers it, or a detail of one.
 */
import { type Detail, idIn, type Members, type Store, type Transferable, Unusable } from './transferable.ts'

/** Raised when a program that knows only the present format would read a file wrongly. */
export const formatVersion = 1

/** The number of records of each kind, by the plural of its name. */
export type Totals = Readonly<Record<string, number>>

/** A line that can be stored; a record with the id that it had at its source. */
export type Entry =
  | { readonly of: string; readonly id: number | undefined; readonly store: Store }
  | { readonly detail: Detail; readonly item: unknown }
  | { readonly end: Totals }

/** The text of a line that has these members. */
export function lineOf(members: object): string {
  return `${JSON.stringify(members)}\n`
}

/** The id of the database that the records come from, as the first line tells it. Throws `Unusable`. */
export function sourceIn(text: string, transferables: readonly (Transferable | Detail)[]): string {
  for (const kind of transferables) {
    if ('spreadsheet' in kind && text.startsWith(kind.spreadsheet.head)) throw new Unusable(kind.spreadsheet.isNone)
  }
  const { waymark_export: version, source } = objectFrom(text) ?? {}
  if (typeof version !== 'number') throw new Unusable('is not an export of Waymark: its first line is not a header')
  if (version !== formatVersion)
    throw new Unusable(`has format ${version}; this version of Waymark reads ${formatVersion}`)
  if (typeof source !== 'string' || !/^[\w.:-]{1,100}$/.test(source)) {
    throw new Unusable('does not say which database it is from: its header needs a "source"')
  }
  return source
}

/** Reads any other line, by the rules that hold for the API. Throws `Unusable`. */
export function readEntry(text: string, transferables: readonly (Transferable | Detail)[]): Entry {
  const [[name, value] = [], ...others] = Object.entries(objectFrom(text) ?? {})
  const kind = transferables.find(({ singular }) => singular === name)
  if (others.length > 0 || !isObject(value) || (kind === undefined && name !== 'end')) {
    const names = transferables.map(({ singular }) => `"${singular}"`).join(', ')
    throw new Unusable(`The line is not a JSON object with one member: ${names} or "end".`)
  }
  if (kind === undefined) return { end: totalsFrom(value) }
  if ('pages' in kind) return { detail: kind, item: kind.read(value) }
  return { of: kind.plural, id: idIn(value), store: kind.read(value) }
}

function totalsFrom(value: Members): Totals {
  const areCounts = Object.values(value).every((total) => Number.isSafeInteger(total) && Number(total) >= 0)
  if (!areCounts) throw new Unusable('The "end" does not count the records of each kind.')
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
