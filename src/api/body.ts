import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Failure } from '../errors.ts'
import { addHeader } from '../http/answer.ts'
import type { Exchange } from '../http/exchange.ts'
import { attempt, fail } from '../http/failing.ts'
import { addField, type Fields, MalformedForm, mostFields, noFields, parseFormBytes } from '../http/form-encoding.ts'
import type { Handler } from '../http/router.ts'

/** Bytes that a request body may have. */
export const largestBody = 64 * 1024

/**
 * Reads the request's body into the fields of the exchange, which `handler` then answers: a form or a JSON object in
 * UTF-8. Anything else is `unsupported_media_type`; a body that is neither is `malformed_body`.
 */
export function afterBody(handler: Handler): Handler {
  return (exchange) => {
    const parse = parserFor(exchange.headers)
    if (parse === null) return handler(exchange)
    if (parse instanceof Failure) return fail(exchange, parse)
    return read(exchange, parse, handler)
  }
}

/** Makes fields of a body. Throws `malformed_body`. */
type Parse = (bytes: Buffer) => Fields

/**
 * How the body is to be read; null when there is none. Decided before any of it is read, so that what cannot be read need
 * not be sent (RFC 9110 §15.5.16).
 */
function parserFor(headers: IncomingHttpHeaders): Parse | Failure | null {
  if (headers['content-encoding'] !== undefined) {
    return unsupported('A body with a Content-Encoding is not accepted: send it as it is.')
  }
  const type = headers['content-type']
  if (type) return parsers.get(type) ?? parserOf(type)
  const isEmpty = headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0
  return isEmpty ? null : unsupported('The body has no Content-Type.')
}

function parserOf(type: string): Parse | Failure {
  const [essence = '', ...parameters] = type.split(';').map((part) => part.trim().toLowerCase())
  const parse = parsers.get(essence)
  if (parse === undefined) return unsupported('The media type of the body is not accepted.')
  const charsets = parameters.filter((parameter) => parameter.startsWith('charset='))
  if (charsets.every((charset) => /^charset=(?:utf-8|"utf-8")$/.test(charset))) return parse
  return unsupported('The charset of the body is not accepted.')
}

const parsers: ReadonlyMap<string, Parse> = new Map([
  ['application/x-www-form-urlencoded', parsedForm],
  ['application/json', parsedJson],
])

function unsupported(reason: string): Failure {
  return new Failure('unsupported_media_type', `${reason} Send ${[...parsers.keys()].join(' or ')}, in UTF-8.`)
}

/** Waits for the whole body. One that is too large is not waited for. */
function read(exchange: Exchange, parse: Parse, handler: Handler): void {
  const { request, headers } = exchange
  if (request.destroyed) {
    // While its key was looked up.
    fail(exchange, cutOff)
    return
  }
  if (Number(headers['content-length'] ?? 0) > largestBody) {
    refuseLarge(exchange)
    return
  }
  if (isAwaitingContinue(request)) exchange.response.writeContinue()
  const chunks: Buffer[] = []
  let length = 0
  request.on('data', (chunk: Buffer) => {
    const before = length
    length += chunk.length
    if (length <= largestBody) chunks.push(chunk)
    else if (before <= largestBody) refuseLarge(exchange)
  })
  request.on('end', () => {
    if (length > largestBody) return
    attempt(exchange, () => {
      const [first] = chunks
      exchange.fields = parse(first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks))
      return handler(exchange)
    })
  })
  request.on('error', () => {
    if (length <= largestBody) fail(exchange, cutOff)
  })
}

/** The client left, or the parser lost it, in the middle of the body: nobody reads this answer. */
const cutOff = new Failure('malformed_request', 'The body ended before its time.')

/** RFC 9110 §10.1.1: not for HTTP/1.0, and an expectation that nobody knows is ignored. */
function isAwaitingContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.expect?.toLowerCase() === '100-continue' && httpVersion !== '1.0'
}

/** The connection is closed behind the answer, since the rest of the body may still come. */
function refuseLarge(exchange: Exchange): void {
  addHeader(exchange, 'connection', 'close')
  fail(exchange, new Failure('body_too_large', 'The body is larger than 64 KiB.'))
}

function parsedForm(bytes: Buffer): Fields {
  try {
    return parseFormBytes(bytes)
  } catch (error) {
    if (error instanceof MalformedForm) throw new Failure('malformed_body', `The form cannot be read. ${error.message}`)
    throw error
  }
}

function parsedJson(bytes: Buffer): Fields {
  if (bytes.length === 0) return noFields
  if (!isUtf8(bytes)) throw new Failure('malformed_body', 'The JSON cannot be read: it is not valid UTF-8.')
  // RFC 8259 §8.1 lets a byte order mark be ignored: some editors put one in front of every text.
  const text = bytes.toString('utf8').replace(/^\ufeff/, '')
  const value = parsed(text)
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw new Failure('malformed_body', 'The JSON must be an object, such as {"name": "go.acme.com"}.')
  }
  return withRepeated(value, text)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw malformedJson((error as SyntaxError).message)
  }
}

/** `reason` is that of `JSON.parse`, which tells the place in most cases. */
export function malformedJson(reason: string): Failure {
  const [, line, column] = /\(line (\d+) column (\d+)\)/.exec(reason) ?? []
  const place = line === undefined ? '' : `: it goes wrong at line ${line}, column ${column}`
  const advice = 'Names and texts stand in double quotes, and no comma stands before a closing bracket.'
  return new Failure('malformed_body', `The body is not valid JSON${place}. ${advice}`)
}

/** The object's members; one that was sent twice, of which `JSON.parse` keeps the last alone, becomes an array. */
function withRepeated(object: object, text: string): Fields {
  const names = memberNames(text)
  if (names.length > mostFields) {
    throw new Failure('malformed_body', `The JSON has too many members: at most ${mostFields} may be sent.`)
  }
  const fields: Record<string, unknown> = Object.create(null)
  for (const name of names) addField(fields, name, (object as Fields)[name])
  return fields
}

/** The names of the outermost object's members, in order, repeated ones included. The text is known to be JSON. */
function memberNames(text: string): string[] {
  const names: string[] = []
  let depth = 0
  for (const [token] of text.matchAll(jsonToken)) {
    if (token === '{' || token === '[') depth++
    else if (token === '}' || token === ']') depth--
    else if (depth === 1 && token.endsWith(':')) names.push(JSON.parse(token.slice(0, token.lastIndexOf('"') + 1)))
  }
  return names
}

/** A bracket, or a string with the colon that makes it a member's name. */
const jsonToken = /[{}[\]]|"[^"\\]*(?:\\.[^"\\]*)*"(?:\s*:)?/g
