import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import { Failure } from '../errors.ts'
import { receiveBody } from '../http/body.ts'
import type { Exchange } from '../http/exchange.ts'
import { type Fields, noFields, parseForm } from '../http/form-encoding.ts'
import { JsonReader, type TextPosition } from '../http/json-reader.ts'
import { CsvError, CsvReader, maxQuotes } from '../lib/csv-rows.ts'
import { formatCount } from '../lib/format.ts'
import { Ticks } from '../lib/ticks.ts'
import type { Body, FileBody, MediaType } from './operations.ts'

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

/** Reads a file of one of these media types. Returns its type and bytes, or a failure. */
export async function receiveFile<Type extends string>(
  exchange: Exchange,
  { media, maxBytes, advice }: Pick<FileBody, 'maxBytes' | 'advice'> & { readonly media: readonly Type[] },
): Promise<{ readonly type: Type; readonly bytes: Buffer } | Failure> {
  const type = parseMediaType(exchange.headers, media)
  if (type instanceof Failure) return type
  if (type === null) return unsupported('The request has no file.', media)
  const bytes = await receiveBody(exchange, maxBytes)
  if (!(bytes instanceof Failure)) return { type, bytes }
  return bytes.code === 'body_too_large' ? new Failure(bytes.code, `${bytes.message} ${advice}`) : bytes
}

type Parse = (bytes: Buffer) => Fields | Failure | Promise<Fields | Failure>

/** Returns the parser for the media type of the body, or null if there is no body. */
function parserFor(headers: IncomingHttpHeaders, media: readonly MediaType[]): Parse | Failure | null {
  const type = parseMediaType(headers, media)
  return type === null || type instanceof Failure ? type : parsers[type]
}

/** Returns the accepted media type of the body, or null if there is no body. */
function parseMediaType<Type extends string>(
  headers: IncomingHttpHeaders,
  media: readonly Type[],
): Type | Failure | null {
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
  if (charsets.every((charset) => /^charset=(?:utf-8|"utf-8")$/.test(charset))) return known
  return unsupported('The charset of the body is not accepted.', media)
}

const parsers = {
  'application/x-www-form-urlencoded': (bytes) => parseForm(bytes),
  'application/json': parseJson,
  'text/csv': parseTable,
} as const satisfies Readonly<Record<MediaType, Parse>>

/** The media types of a body, unless it names others. */
export const usualMedia: readonly MediaType[] = ['application/x-www-form-urlencoded', 'application/json']

export function unsupported(reason: string, media: readonly string[] = usualMedia): Failure {
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
  if (typeof rows === 'string') return new Failure('malformed_body', `The CSV cannot be read. ${rows}`)
  return { csv: new Table(rows) }
}

/** More rows than any request accepts. Further rows are ignored. */
const maxRows = 10_000
/** Characters that are parsed before other work can run, unless a row is longer. */
const partLength = 8 * 1024

/** Returns the cells of the first 10,000 rows of a CSV text, without empty lines, or a sentence that names the mistake. */
export async function parseCsv(text: string): Promise<(readonly string[])[] | string> {
  const ticks = new Ticks()
  const reader = new CsvReader()
  const rows: (readonly string[])[] = []
  try {
    for (let [at, length] = [0, partLength]; at < text.length; ) {
      const end = at + length
      // The reader reads a row that has not ended again. Parts of the same length would make a long row quadratic.
      length *= 2
      for (const { cells } of reader.read(text.slice(at, end), end >= text.length)) {
        const isEmpty = cells.length === 1 && cells[0] === ''
        if (!isEmpty && rows.length < maxRows) rows.push(cells)
        length = partLength
      }
      at = end
      await ticks.next()
    }
    return rows
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    return `In row ${error.row}, column ${error.cell}, ${describeProblem(error)}`
  }
}

/** Returns the end of a sentence that says why a cell can't be read. */
function describeProblem({ problem, quoteLines: [opening, closing] }: CsvError): string {
  const advice = 'Double the quotes within a cell, and put one before and after it.'
  if (problem === 'never closed') return `the quote in line ${opening} is never closed. ${advice}`
  if (problem === 'too many quotes') {
    return `the cell has more than ${formatCount(maxQuotes)} quotes. Shorten it.`
  }
  if (opening === closing) return `text follows the closing quote. ${advice}`
  return `the quote in line ${opening} is closed in line ${closing}, but text follows. ${advice}`
}

/** Parses a JSON object (RFC 8259). A repeated member becomes `repeated`, and an object with too many is a failure. */
export async function parseJson(bytes: Buffer): Promise<Fields | Failure> {
  if (bytes.length === 0) return noFields
  if (!isUtf8(bytes)) return new Failure('malformed_body', 'The JSON cannot be read: it is not valid UTF-8.')
  // Some editors add a byte order mark, which may be ignored (RFC 8259 §8.1).
  const value = await new JsonReader(bytes.toString('utf8').replace(/^\ufeff/, ''), malformedJson).read()
  if (isObject(value)) return value
  return new Failure('malformed_body', 'The JSON must be an object in braces, with the fields by name.')
}

/** Returns whether a JSON value is an object, or the failure of an object with too many members. */
export function isObject(value: unknown): value is Fields | Failure {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

export function malformedJson({ line, column }: TextPosition): Failure {
  const advice = 'Put names and texts in double quotes, and leave out commas before closing brackets.'
  return new Failure(
    'malformed_body',
    `The body is not valid JSON: it goes wrong at line ${line}, column ${column}. ${advice}`,
  )
}
