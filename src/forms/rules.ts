import type { TBoolean } from 'typebox'
import { parseBoundedText } from '../lib/text.ts'
import { maxUrlLength, parseDestination, parseWebUrl } from '../names/web-url.ts'
import { Refusal } from '../violations.ts'
import type { Rule } from './form.ts'
import { Type } from './json-schema.ts'

/** A rule for one of a few words or numbers, in this spelling. */
export function oneOf<const Value extends string | number>(
  allowed: readonly Value[],
  description: string,
): Rule<Value> {
  return {
    schema: Type.Enum([...allowed], { description }),
    parse: (text) => allowed.find((value) => String(value) === text) ?? notAllowed(allowed),
  }
}

function notAllowed(allowed: readonly (string | number)[]): Refusal {
  return new Refusal('not_allowed', { options: `${allowed.length === 1 ? '' : 'one of '}${allowed.join(', ')}` })
}

/** Parses a positive integer in canonical decimal form, up to 2^53-1. Returns undefined for any other text. */
export function positiveInteger(text: string): number | undefined {
  if (!/^[1-9][0-9]{0,15}$/.test(text)) return undefined
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : undefined
}

interface IntegerOptions {
  /** 0 or more; 1 by default. */
  readonly minimum?: number
  readonly maximum?: number
  readonly description: string
  readonly default?: number
}

/** A rule for an integer in canonical decimal form. */
export function integer({ minimum = 1, maximum = Number.MAX_SAFE_INTEGER, ...options }: IntegerOptions): Rule<number> {
  return {
    schema: Type.Integer({ minimum, maximum, ...options }),
    parse: (text) => parseInteger(minimum, maximum, text),
  }
}

/** Parses an integer in canonical decimal form. Returns a refusal that names the range for any other text. */
export function parseInteger(
  minimum: number,
  maximum: number,
  text: string,
  message: 'out_of_range' | 'out_of_range.option' = 'out_of_range',
): number | Refusal {
  const value = text === '0' ? 0 : positiveInteger(text)
  if (value !== undefined && value >= minimum && value <= maximum) return value
  const hasRange = maximum < Number.MAX_SAFE_INTEGER
  return hasRange ? new Refusal(message, { least: minimum, most: maximum }) : new Refusal('out_of_range.id')
}

/** A rule for text of at most `maxLength` code points in Unicode normalization form C. */
export function boundedText(maxLength: number, description: string): Rule<string> {
  return {
    schema: Type.String({ maxLength, description }),
    parse: (text) => parseBoundedText(text, maxLength),
  }
}

/** A rule for a date such as `2026-11-22`. The value is its number of days since 1970-01-01. */
export function day(description: string): Rule<number> {
  return {
    schema: Type.String({ format: 'date', description }),
    parse: (text) => dayFrom(text) ?? new Refusal('invalid_date'),
  }
}

/** The names of the colors 1 to 6. */
export const colors = ['green', 'red', 'amber', 'blue', 'dark', 'brand']

export const colorSchema = Type.Integer({
  enum: colors.map((_, index) => index + 1),
  'x-enum-varnames': colors,
  description: `The color: ${colors.map((color, index) => `${index + 1} ${color}`).join(', ')}.`,
})

/** A rule for one of the six colors. */
export const color: Rule<number> = {
  schema: colorSchema,
  number: true,
  parse: (text) => parseInteger(1, colors.length, text, 'out_of_range.option'),
}

/** A rule for a flag: `true` or `1`, `false` or `0`. */
export function boolean(schema: TBoolean): Rule<boolean> {
  return {
    schema,
    number: true,
    boolean: true,
    parse: (text) => {
      if (text === 'true' || text === '1') return true
      if (text === 'false' || text === '0') return false
      return new Refusal('not_a_boolean')
    },
  }
}

/** In code points. */
/** In code points. */
export const maxTagName = 50

/** A rule for the name of a tag. Commas separate tags. */
export const tagName: Rule<string> = {
  schema: Type.String({
    minLength: 1,
    maxLength: maxTagName,
    pattern: '^[^,]*$',
    description: 'The name, which is unique in the account. Case-insensitive.',
  }),
  parse: (text) => (text.includes(',') ? new Refusal('invalid_character.comma') : parseBoundedText(text, maxTagName)),
}

const webPattern = '^[Hh][Tt][Tt][Pp][Ss]?://([\\w-]|[^\\u0000-\\u007f])'
const anyPattern = '^[A-Za-z][A-Za-z0-9+.-]*:.'

/** URLs are stored unchanged. The URL Standard allows letters of any script, unlike RFC 3986 and so `uri`. */
const urlSchemas = (maxLength: number, pattern: string) =>
  [Type.String({ format: 'uri', maxLength }), Type.String({ pattern, maxLength })] as const

/** A rule for an absolute http or https URL, which is stored unchanged; see `parseWebUrl`. */
export function webUrl(description: string): Rule<string> {
  return {
    schema: Type.Union([...urlSchemas(maxUrlLength, webPattern)], { description }),
    parse: (text) => parseWebUrl(text),
  }
}

/** A rule for the destination of a link, which is stored unchanged; see `parseDestination`. */
export function destinationUrl(description: string, maxLength: number): Rule<string> {
  return { schema: destinationSchema(description, maxLength), parse: (text) => parseDestination(text, maxLength) }
}

/** The schema of a destination in a record. */
function destinationSchema(description: string, maxLength: number) {
  return Type.Union([...urlSchemas(maxLength, anyPattern)], { description })
}

/** The schema of an optional http or https URL in a record. */
export function urlOrNull(description: string) {
  return Type.Union([...urlSchemas(maxUrlLength, webPattern), Type.Null()], { description })
}

const dayMs = 86_400_000

/** Returns the day of a text such as `2026-11-22`, in days since 1970-01-01; undefined for an invalid date or one before. */
export function dayFrom(text: string): number | undefined {
  const day = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) / dayMs : Number.NaN
  return day >= 0 && new Date(day * dayMs).toISOString().startsWith(text) ? day : undefined
}

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)$/
const minuteInUtc = /^(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d)$/

/** Parses a time (RFC 3339 §5.6, or `YYYY-MM-DD HH:MM` in UTC). Returns RFC 3339 in UTC with milliseconds. */
export function parseTime(text: string): string | Refusal {
  const [, year, month, day, hour, minute, second = '00', fraction = '', zone = 'Z'] =
    rfc3339.exec(text) ?? minuteInUtc.exec(text) ?? []
  const local = `${year}-${month}-${day}T${hour}:${minute}:${second}`
  const time = new Date(`${local}.${fraction.slice(0, 3).padEnd(3, '0')}${zone.toUpperCase()}`)
  // `Date` turns February 30 into March 1 or 2.
  const isReal = !Number.isNaN(time.getTime()) && new Date(`${local}Z`).toJSON()?.startsWith(local)
  const inUtc = isReal ? time.toJSON() : ''
  return /^\d{4}-/.test(inUtc) ? inUtc : new Refusal('invalid_time')
}
