/**
 * Fields that hold the URL of a page.
 */
import { maxUrlLength, parseWebUrl } from '../names/web-url.ts'
import type { Rule } from './fields.ts'
import { Type } from './json-schema.ts'

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
