import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import { Failure } from '../errors.ts'
import { receiveBody } from '../http/body.ts'
import type { Exchange } from '../http/exchange.ts'
import { addField, type Fields, maxFields, noFields, parseForm } from '../http/form-encoding.ts'
import { parseCsv } from '../lib/csv.ts'
import { Ticks } from '../lib/ticks.ts'
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

/** The media types of a body, unless it names others. */
export const usualMedia: readonly MediaType[] = ['application/x-www-form-urlencoded', 'application/json']

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
  if (typeof rows === 'string') return new Failure('malformed_body', `The CSV cannot be read. ${rows}`)
  return { csv: new Table(rows) }
}

/** Parses a JSON object (RFC 8259). A repeated member becomes `repeated`, and an object with too many is a failure. */
export async function parseJson(bytes: Buffer): Promise<Fields | Failure> {
  if (bytes.length === 0) return noFields
  if (!isUtf8(bytes)) return new Failure('malformed_body', 'The JSON cannot be read: it is not valid UTF-8.')
  // Some editors add a byte order mark, which may be ignored (RFC 8259 §8.1).
  const value = await new JsonReader(bytes.toString('utf8').replace(/^\ufeff/, ''), malformedJson).read()
  if (isObject(value)) return value
  return new Failure('malformed_body', 'The JSON must be an object, such as {"name": "go.acme.com"}.')
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

export const tooManyMembers = new Failure(
  'malformed_body',
  `The JSON has too many members: at most ${maxFields} may be sent.`,
)

/** Every list rejects more values, so the others are not stored. */
const maxItems = 10_000
/** Every field rejects values with more levels, so deeper ones are not stored. */
const maxDepth = 16
/** Values and ends that are read before the time is checked. */
const stepsPerCheck = 100
const jsonToken = /[ \t\n\r]*([{}[\]:,]|"[^"\\]*(?:\\.[^"\\]*)*"?|[^\s{}[\]:,"]+|$)/sy

/** An object or array while it is read. */
interface Container {
  readonly end: '}' | ']'
  /** The name of the next value, in an object. */
  name: string
  readonly add: (name: string, value: unknown) => void
  readonly value: () => unknown
}

function newObject(): Container {
  const fields: Record<string, unknown> = Object.create(null)
  let members = 0
  const add = (name: string, value: unknown) => {
    members += 1
    if (members <= maxFields) addField(fields, name, value)
  }
  return { end: '}', name: '', add, value: () => (members > maxFields ? tooManyMembers : fields) }
}

function newArray(): Container {
  const items: unknown[] = []
  const add = (_: string, value: unknown) => void (items.length <= maxItems && items.push(value))
  return { end: ']', name: '', add, value: () => items }
}

const ignored = { name: '', add: () => undefined, value: () => ignored }
const deepObject: Container = { ...ignored, end: '}' }
const deepArray: Container = { ...ignored, end: ']' }

const unfinished = Symbol('unfinished')

/** A position in a text. Lines and columns start at 1. */
export interface TextPosition {
  readonly line: number
  readonly column: number
}

/** Parses JSON. `JSON.parse` would block the event loop, and use the last value of a repeated member. */
export class JsonReader {
  /** The offsets of the values in the outermost array or object. */
  readonly starts: number[] = []
  readonly #text: string
  readonly #failure: (at: TextPosition, token: string) => unknown
  readonly #open: Container[] = []
  #value: unknown = unfinished
  #at = 0
  /** The position of the last token. */
  #last = 0

  /** `failure` returns what to throw for an unexpected token, which is empty at the end of the text. */
  constructor(text: string, failure: (at: TextPosition, token: string) => unknown) {
    this.#text = text
    this.#failure = failure
  }

  async read(): Promise<unknown> {
    const ticks = new Ticks()
    for (let step = 1; this.#step(); step++) if (step % stepsPerCheck === 0) await ticks.next()
    return this.#end()
  }

  /** Reads a text as `read` does, without pauses. */
  readShort(): unknown {
    while (this.#step());
    return this.#end()
  }

  /** Returns the position of an offset. */
  positionOf(offset: number): TextPosition {
    let line = 1
    let lineStart = 0
    for (let end = this.#text.indexOf('\n'); end >= 0 && end < offset; end = this.#text.indexOf('\n', lineStart)) {
      line += 1
      lineStart = end + 1
    }
    return { line, column: offset - lineStart + 1 }
  }

  /** Returns false after the last value. */
  #step(): boolean {
    const container = this.#open.at(-1)
    const isStart = this.#value === unfinished || container === undefined
    this.#value = isStart ? this.#start() : this.#add(container, this.#value)
    return this.#value === unfinished || this.#open.length > 0
  }

  #end(): unknown {
    return this.#skip('') ? this.#value : this.#fail()
  }

  /** Reads a scalar or an empty container, or the start of another container, which is unfinished. */
  #start(): unknown {
    const token = this.#next()
    if (this.#open.length === 1) this.starts.push(this.#last)
    if (token !== '{' && token !== '[') return this.#scalar(token)
    const isDeep = this.#open.length >= maxDepth
    const container = token === '{' ? (isDeep ? deepObject : newObject()) : isDeep ? deepArray : newArray()
    if (this.#skip(container.end)) return container.value()
    this.#open.push(container)
    this.#readName(container)
    return unfinished
  }

  /** Adds a value to a container. Returns the container's value if that was the last. */
  #add(container: Container, value: unknown): unknown {
    container.add(container.name, value)
    if (this.#skip(',')) {
      this.#readName(container)
      return unfinished
    }
    if (!this.#skip(container.end)) this.#fail()
    this.#open.pop()
    return container.value()
  }

  /** Reads the name of a member, if the container is an object. */
  #readName(container: Container): void {
    if (container.end === ']') return
    const token = this.#next()
    container.name = token.startsWith('"') ? String(this.#scalar(token)) : this.#fail()
    if (!this.#skip(':')) this.#fail()
  }

  /** Returns the next token; '' at the end of the text. */
  #next(): string {
    jsonToken.lastIndex = this.#at
    const [whole = '', token] = jsonToken.exec(this.#text) ?? []
    this.#last = this.#at + whole.length - (token?.length ?? 0)
    this.#at += whole.length
    return token ?? this.#fail()
  }

  /** Skips the next token if it is this one. */
  #skip(token: string): boolean {
    const before = this.#at
    if (this.#next() === token) return true
    this.#at = before
    return false
  }

  #scalar(token: string): unknown {
    try {
      return JSON.parse(token)
    } catch {
      return this.#fail()
    }
  }

  /** Throws the failure of the last token. */
  #fail(): never {
    jsonToken.lastIndex = this.#last
    const token = jsonToken.exec(this.#text)?.[1] ?? this.#text.charAt(this.#last)
    throw this.#failure(this.positionOf(this.#last), token)
  }
}
