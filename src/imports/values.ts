/** Values in the cells and members of files: addresses, times, numbers and texts. */
import { domainToASCII } from 'node:url'
import { validationFailed } from '../errors.ts'
import { maxTagName } from '../forms/rules.ts'
import { decodePercent, foldCase, parseBoundedText } from '../lib/text.ts'
import { parseTimeZone, TimeZone } from '../lib/time-zone.ts'
import { maxTags } from '../links/link.ts'
import { Refusal } from '../violations.ts'
import type { FileAddress } from './file-row.ts'

/** Returns the text of a value: '' for null and for objects. */
export function toText(value: unknown): string {
  return value === null || value === undefined || typeof value === 'object' ? '' : String(value)
}

const shortUrl = /^(?:(?:[a-z][a-z\d+.-]*:)?\/\/)?([^/?#]*)([^?#]*)/is
/** More than any host has. Conversion takes quadratic time. */
const maxHost = 1024
const plainHost = /^[a-z\d.-]*$/

/** Parses a short URL with or without a scheme. Returns null for an empty text. */
export function parseAddress(text: string): FileAddress | null {
  const trimmed = text.trim()
  if (trimmed === '') return null
  const [, authority = '', path = ''] = shortUrl.exec(trimmed) ?? []
  return buildAddress(authority, decodePercent(path) ?? path)
}

/** Returns the address of a host, which may be empty, and a decoded path. */
export function buildAddress(authority: string, path: string): FileAddress {
  const name = storable(authority.slice(0, maxHost))
    .trim()
    .toLowerCase()
    .replace(/^.*@|:\d*$|\.$/g, '')
  const host = name === '' ? null : plainHost.test(name) ? name : domainToASCII(name) || name
  return { host, path: storable(path).replace(/^\//, '').replace(/\/$/, '') }
}

/** Returns a text that databases store, which is as invalid as before: PostgreSQL rejects NUL. */
export function storable(text: string): string {
  return text.replaceAll('\0', '\u0001').toWellFormed()
}

/** Spreadsheets leave out seconds and the first 0 of hours; databases put a space before an offset or `UTC`. */
const timePattern =
  /^(\d{4})-(\d\d)-(\d\d)(?:[t ] ?(\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?: ?(z|utc|gmt|[+-]\d\d(?::?\d\d)?))?)?$/i

/** Returns the difference from UTC of an offset such as `+0200`, in milliseconds. Null if it is none. */
export function parseOffset(text: string): number | null {
  const [, sign, hours, minutes = '0'] = /^([+-])(\d\d):?(\d\d)?$/.exec(text) ?? []
  if (sign === undefined || Number(hours) > 18 || Number(minutes) > 59) return null
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
}

/** Reads times. Those without an offset are in the zone of the file. */
export class FileTimes {
  readonly #offsetAt: ((localMs: number) => number) | null

  /** `zone` is an IANA name or an offset. Throws `validation_failed` on `time_zone`. */
  constructor(zone: string | null) {
    this.#offsetAt = zone === null ? null : findOffsets(zone)
  }

  /** Returns RFC 3339 in UTC, null for no time, undefined for an unknown form. Throws if a time needs the zone. */
  parse(value: unknown): string | null | undefined {
    const text = toText(value).trim()
    if (text === '' || text.startsWith('0000-00-00')) return null
    if (/^\d{10}$|^\d{13}$/.test(text)) return new Date(Number(text.padEnd(13, '0'))).toISOString()
    const match = timePattern.exec(text)
    if (match === null) return undefined
    const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', zone] = match
    const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute)))
    // `Date` turns February 30 into March 1 or 2, and 25:00 into the next day.
    if (date.getUTCDate() !== Number(day) || date.getUTCMonth() + 1 !== Number(month)) return undefined
    if (
      date.getUTCFullYear() !== Number(year) ||
      date.getUTCHours() !== Number(hour) ||
      Number(minute) > 59 ||
      Number(second) > 59
    )
      return undefined
    const localMs = date.getTime() + Number(second) * 1000 + Number(fraction.slice(0, 3).padEnd(3, '0'))
    const offset = zone === undefined ? this.#offset(localMs, text) : /^[a-z]/i.test(zone) ? 0 : parseOffset(zone)
    return offset === null ? undefined : new Date(localMs - offset).toISOString()
  }

  #offset(localMs: number, text: string): number {
    if (this.#offsetAt !== null) return this.#offsetAt(localMs)
    throw validationFailed([new Refusal('required.time_zone', { time: text }).at('time_zone')])
  }
}

function findOffsets(name: string): (localMs: number) => number {
  const offset = name.toUpperCase() === 'Z' ? 0 : parseOffset(name)
  if (offset !== null) return () => offset
  const known = parseTimeZone(name)
  if (known === undefined) throw validationFailed([new Refusal('not_allowed.time_zone').at('time_zone')])
  const zone = new TimeZone(known)
  const offsetAt = (ms: number) => zone.spanAt(ms).offsetMs
  return (localMs) => offsetAt(localMs - offsetAt(localMs))
}

/** More than any number has. */
const maxDigits = 32

/** Returns a number, null for no number, undefined for an unknown form. */
export function parseCount(value: unknown): number | null | undefined {
  const text = toText(value).trim()
  if (text === '') return null
  if (text.length > maxDigits) return undefined
  const count = /^(?:\d+|\d{1,3}(?:,\d{3})+)$/.test(text) ? Number(text.replaceAll(',', '')) : Number.NaN
  return Number.isSafeInteger(count) ? count : undefined
}

const flags: Readonly<Record<string, string>> = {
  yes: 'true',
  no: 'false',
  t: 'true',
  f: 'false',
  1: 'true',
  0: 'false',
}

/** Returns `true` or `false`, and unknown texts unchanged. */
export function parseFlag(value: unknown): string {
  const text = toText(value).trim().toLowerCase()
  return flags[text] ?? text
}

/** Returns whether a value says that the link has something: a text, a number, a flag or a list. */
export function isSet(value: unknown): boolean {
  if (typeof value === 'object') return value !== null && Object.keys(value).length > 0
  return !/^(?:|\W?0(?:[.,]0+)?|false|no|null|\{\}|\[\])$/.test(toText(value).trim().toLowerCase())
}

/** A text, and whether something of it is lost. */
interface Fitted {
  readonly text: string
  readonly isCut: boolean
}

/** Returns a text without control characters, of at most `most` code points. Only notes have several lines. */
export function fitText(value: unknown, most: number, isMultiline: boolean): Fitted {
  const lines = toText(value).replaceAll('\r\n', '\n').toWellFormed()
  const plain = isMultiline ? lines.replace(/[^\P{Cc}\n\t]/gu, '') : lines.replace(/\s+/g, ' ').replace(/\p{Cc}/gu, '')
  // Normalization takes quadratic time in the marks on a letter, and never shortens a text to less than a quarter.
  const characters = [
    ...plain
      .trim()
      .slice(0, 4 * most)
      .normalize(),
  ]
  const isCut = characters.length > most || plain.trim().length > 4 * most
  return { text: isCut ? characters.slice(0, most).join('').trim() : characters.join(''), isCut }
}

/** Returns names of tags with commas between them. `separator` separates them in a text. */
export function fitTags(value: unknown, separator: string | RegExp): Fitted {
  const listed = Array.isArray(value) ? value.map((tag) => toText(tag?.name ?? tag)) : toText(value).split(separator)
  const names = new Map<string, string>()
  let isCut = false
  for (const name of listed.map((each) => each.trim()).filter((each) => each !== '')) {
    const tag = /[\p{Cc}\p{Cs},]/u.test(name) ? null : parseBoundedText(name, maxTagName)
    if (typeof tag !== 'string') isCut = true
    else if (names.has(foldCase(tag))) continue
    else if (names.size === maxTags) isCut = true
    else names.set(foldCase(tag), tag)
  }
  return { text: [...names.values()].join(','), isCut }
}
