/**
 * The file of an export: JSON Lines, of which the first says what it is, the last how much there was, and each line
 * between them is one record as the API answers it.
 */

import type { Reading } from '../api/fields.ts'
import { type Domain, storeDomain } from '../domains/schema.ts'
import type { Violation } from '../errors.ts'
import type { HostName } from '../names/host-name.ts'
import { type Space, storeSpace } from '../spaces/schema.ts'

/** Raised when a program that knows only the present format would read a file wrongly. */
export const formatVersion = 1

export interface Header {
  readonly waymark_export: number
  /** What tells the database that the records are from. */
  readonly source: string
}

export interface Totals {
  readonly domains: number
  readonly spaces: number
}

export type Times = Pick<Domain, 'created_at' | 'updated_at'>

/** A line that can be stored. The id is the one that the record had at its source. */
export type Entry =
  | { readonly domain: { name: HostName; homepage_url: string | null; not_found_url: string | null }; times?: Times }
  | { readonly space: { name: string; color: number }; id: number; times?: Times }
  | { readonly end: Partial<Totals> }

/** The reason for which a line cannot be stored, in a sentence or several. */
export class Unusable extends Error {}

export const lineOf = {
  header: (header: Header & Record<string, unknown>) => line(header),
  domain: ({ id, name, homepage_url, not_found_url, created_at, updated_at }: Domain) =>
    line({ domain: { id, name, homepage_url, not_found_url, created_at, updated_at } }),
  space: ({ id, name, color, created_at, updated_at }: Space) =>
    line({ space: { id, name, color, created_at, updated_at } }),
  end: ({ domains, spaces }: Totals) => line({ end: { domains, spaces } }),
}

function line(value: object): string {
  return `${JSON.stringify(value)}\n`
}

/** Reads the first line. Throws `Unusable`. */
export function readHeader(text: string): Header {
  const { waymark_export: version, source } = objectFrom(text, 'is no export of Waymark: its first line is no header')
  if (typeof version !== 'number') throw new Unusable('is no export of Waymark: its first line is no header')
  if (version !== formatVersion)
    throw new Unusable(`has format ${version}; this version of Waymark reads ${formatVersion}`)
  if (typeof source !== 'string' || !/^[\w.:-]{1,100}$/.test(source)) {
    throw new Unusable('does not say which database it is from: its header needs a "source"')
  }
  return { waymark_export: version, source }
}

/** Reads any other line, by the rules that hold for the API. Throws `Unusable`. */
export function readEntry(text: string): Entry {
  const members = objectFrom(text, shape)
  const [[kind, value] = [], ...others] = Object.entries(members)
  const read = kind !== undefined && Object.hasOwn(readers, kind) ? readers[kind as keyof typeof readers] : undefined
  if (read === undefined || others.length > 0 || !isObject(value)) throw new Unusable(shape)
  return read(value)
}

const shape = 'The line is no JSON object with a "domain", a "space" or the "end" in it.'

const readers = {
  domain: (value: Fields): Entry => ({ domain: checked(storeDomain.read(value)), ...timesOf(value) }),
  space: (value: Fields): Entry => {
    const { id } = value
    if (!Number.isSafeInteger(id) || Number(id) < 1) {
      throw new Unusable('id: A space needs the id that it had at its source, so that it is known when it comes again.')
    }
    return { space: checked(storeSpace.read(value)), id: Number(id), ...timesOf(value) }
  },
  end: (value: Fields): Entry => ({ end: value as Partial<Totals> }),
}

type Fields = Record<string, unknown>

function checked<T>({ values, violations }: Reading<T>): T {
  if (violations.length > 0) throw new Unusable(violations.map(sentence).join(' '))
  return values as T
}

function sentence({ field, message }: Violation): string {
  return `${field}: ${message}`
}

/** A record without times is stored as one of now. */
function timesOf({ created_at, updated_at = created_at }: Fields): { times?: Times } {
  if (created_at === undefined && updated_at === undefined) return {}
  if (isTime(created_at) && isTime(updated_at)) return { times: { created_at, updated_at } }
  throw new Unusable('created_at and updated_at: Times are written in UTC, such as 2026-11-20T12:00:00.000Z.')
}

function isTime(value: unknown): value is string {
  return typeof value === 'string' && timePattern.test(value) && new Date(value).toJSON() === value
}

const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

function objectFrom(text: string, otherwise: string): Fields {
  const value = parsed(text)
  if (!isObject(value)) throw new Unusable(otherwise)
  return value
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
