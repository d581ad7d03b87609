import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import { Failure } from '../errors.ts'
import { receiveBody } from '../http/body.ts'
import type { Exchange } from '../http/exchange.ts'
import { addField, type Fields, maxFields, noFields, parseForm } from '../http/form-encoding.ts'
import { parseCsv } from '../lib/csv.ts'
import type { Body, MediaType } from './operations.ts'

/** The maximum body size. Bytes. */
export const maxBody = 64 * 1024

/** Reads a form or a JSON object in UTF-8. Returns a failure for other bodies, or if the client left. */
export async function readBody(
  exchange: Exchange,
  { media = usualMedia, maxBytes = maxBody }: Pick<Body, 'media' | 'maxBytes'> = {},
): Promise<Fields | Failure> {
  // The media type is checked first, so that the client need not send an unusable body (RFC 9110 §15.5.16).
  const parse = parserFor(exchange.headers, media)
  if (parse === null) return noFields
  if (parse instanceof Failure) return parse
  const bytes = await receiveBody(exchange, maxBytes)
  return bytes instanceof Failure ? bytes : parse(bytes)
}

type Parse = (bytes: Buffer) => Fields | Failure | Promise<Fields | Failure>

/** Returns the parser for the media type of the body, or null if there is no body. */
function parserFor(headers: IncomingHttpHeaders, media: readonly MediaType[]): Parse | Failure | null {
  if (headers['content-encoding'] !== undefined) {
    return unsupported('A body with a Content-Encoding is not accepted: send it uncompressed.', media)
  }
  const type = headers['content-type']
  if (!type) {
    const isEmpty = headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0
    return isEmpty ? null : unsupported('The body has no Content-Type.', media)
  }
  const [essence = '', ...parameters] = type.split(';').map((part) => part.trim().toLowerCase())
  const known = media.find((each) => each === essence)
  if (known === undefined) return unsupported('The media type of the body is not accepted.', media)
  const charsets = parameters.filter((parameter) => parameter.startsWith('charset='))
  if (charsets.every((charset) => /^charset=(?:utf-8|"utf-8")$/.test(charset))) return parsers[known]
  return unsupported('The charset of the body is not accepted.', media)
}

const parsers = {
  'application/x-www-form-urlencoded': (bytes) => parseForm(bytes),
  'application/json': parseJson,
  'text/csv': parseTable,
} as const satisfies Readonly<Record<MediaType, Parse>>

const usualMedia: readonly MediaType[] = ['application/x-www-form-urlencoded', 'application/json']

export function unsupported(reason: string, media = usualMedia): Failure {
  return new Failure('unsupported_media_type', `${reason} Send ${media.join(' or ')}, in UTF-8.`)
}

/** The rows of a CSV body. The first row has the column names. */
export class Table {
  readonly rows: readonly (readonly string[])[]

  constructor(rows: readonly (readonly string[])[]) {
    this.rows = rows
  }
}

/** Parses CSV into a `Table` in the field `csv`. */
async function parseTable(bytes: Buffer): Promise<Fields | Failure> {
  if (!isUtf8(bytes)) return new Failure('malformed_body', 'The CSV cannot be read: it is not valid UTF-8.')
  const rows = await parseCsv(bytes.toString('utf8').replace(/^\ufeff/, ''))
  return rows === undefined ? openQuote : { csv: new Table(rows) }
}

const openQuote = new Failure(
  'malformed_body',
  'The CSV cannot be read: a quote is not closed, or text follows it. Double the quotes within a cell.',
)

/** Parses a JSON object (RFC 8259). A repeated member becomes `repeated`, because `JSON.parse` would use its last value. */
export function parseJson(bytes: Buffer): Fields | Failure {
  if (bytes.length === 0) return noFields
  if (!isUtf8(bytes)) return new Failure('malformed_body', 'The JSON cannot be read: it is not valid UTF-8.')
  // Some editors add a byte order mark, which may be ignored (RFC 8259 §8.1).
  const text = bytes.toString('utf8').replace(/^\ufeff/, '')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return malformedJson((error as SyntaxError).message)
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    return new Failure('malformed_body', 'The JSON must be an object, such as {"name": "go.acme.com"}.')
  }
  return fieldsOf(value as Fields, memberNames(text))
}

/** `reason` is the message of `JSON.parse`, which usually contains the position. */
export function malformedJson(reason: string): Failure {
  const [, line, column] = /\(line (\d+) column (\d+)\)/.exec(reason) ?? []
  const place = line === undefined ? '' : `: it goes wrong at line ${line}, column ${column}`
  const advice = 'Put names and texts in double quotes, and leave out commas before closing brackets.'
  return new Failure('malformed_body', `The body is not valid JSON${place}. ${advice}`)
}

/** Returns the members of an object with these names, some of which may be repeated. */
export function fieldsOf(object: Fields, names: Iterable<string> = Object.keys(object)): Fields | Failure {
  const fields: Record<string, unknown> = Object.create(null)
  let members = 0
  for (const name of names) {
    members += 1
    if (members > maxFields) {
      return new Failure('malformed_body', `The JSON has too many members: at most ${maxFields} may be sent.`)
    }
    addField(fields, name, object[name])
  }
  return fields
}

/** Yields the names of the outermost object's members, in order and with repetitions. The text is valid JSON. */
function* memberNames(text: string): Generator<string> {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '{' || character === '[') depth += 1
    else if (character === '}' || character === ']') depth -= 1
    else if (character === '"') {
      stringOrName.lastIndex = at
      const [whole, string, colon] = stringOrName.exec(text) as unknown as [string, string, string | undefined]
      if (depth === 1 && colon !== undefined) yield JSON.parse(string)
      at += whole.length - 1
    }
  }
}

/** A string, with a colon if it is the name of a member. */
const stringOrName = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?/y
