import { Refusal } from '../errors.ts'
import { maxUrlLength, parseWebUrl } from '../names/web-url.ts'
import type { Rule } from './form.ts'
import { Type } from './json-schema.ts'

/** One of a few words, as they are written here. */
export function oneOf<const Value extends string>(allowed: readonly Value[], description: string): Rule<Value> {
  return {
    schema: Type.Enum([...allowed], { description }),
    parse: (text, label) => allowed.find((value) => value === text) ?? notAllowed(label, allowed),
  }
}

export function notAllowed(label: string, allowed: readonly (string | number)[]): Refusal {
  return new Refusal(
    'not_allowed',
    `The ${label} must be ${allowed.length === 1 ? '' : 'one of '}${allowed.join(', ')}.`,
  )
}

/** A positive integer in canonical decimal form, at most 2^53-1; undefined for any other text. */
export function positiveInteger(text: string): number | undefined {
  if (!/^[1-9][0-9]{0,15}$/.test(text)) return undefined
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : undefined
}

/** The positive integer that the text is in canonical form, if it is at most `most`; otherwise a refusal that names the range. */
export function integerUpTo(most: number, text: string, label: string): number | Refusal {
  const value = positiveInteger(text)
  if (value !== undefined && value <= most) return value
  const bounds = most === Number.MAX_SAFE_INTEGER ? 'of 1 or more' : `from 1 to ${most}`
  return new Refusal('out_of_range', `The ${label} must be an integer ${bounds}.`)
}

/** The integer from `least`, 0 or more, to `most` that the text is in canonical form; otherwise a refusal that names the range. */
export function integerFrom(least: number, most: number, text: string, label: string): number | Refusal {
  const value = text === '0' ? 0 : positiveInteger(text)
  if (value !== undefined && value >= least && value <= most) return value
  return new Refusal('out_of_range', `The ${label} must be an integer from ${least} to ${most}.`)
}

/** URLs are kept as sent, and the URL Standard takes letters of any script where RFC 3986, and so `uri`, does not. */
const schemasOf = (maxLength: number) =>
  [
    Type.String({ format: 'uri', maxLength }),
    Type.String({ pattern: '^[Hh][Tt][Tt][Pp][Ss]?://(\\w|[^\\u0000-\\u007f])', maxLength }),
  ] as const

/** An absolute http or https URL, kept as sent: see `parseWebUrl`. */
export function webUrl(description: string, maxLength = maxUrlLength): Rule<string> {
  return { schema: urlSchema(description, maxLength), parse: (text) => parseWebUrl(text, maxLength) }
}

/** A URL in a record. */
export function urlSchema(description: string, maxLength = maxUrlLength) {
  return Type.Union([...schemasOf(maxLength)], { description })
}

/** A URL that a record may lack. */
export function urlOrNull(description: string) {
  return Type.Union([...schemasOf(maxUrlLength), Type.Null()], { description })
}
