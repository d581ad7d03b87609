import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { Failure } from '../errors.ts'
import { addHeader } from './answer.ts'
import { addField, type Fields, MalformedForm, mostFields, parseFormBytes } from './form-encoding.ts'

/** Bytes that a request body may have. */
export const largestBody = 64 * 1024

const none: Fields = Object.freeze(Object.create(null))

/**
 * Reads request bodies into `Fields`: forms and JSON objects in UTF-8. Anything else is `unsupported_media_type`;
 * a body that is neither is `malformed_body`. DELETE ignores its body, whatever it says it is.
 */
export function readBodies(app: FastifyInstance): void {
  // Fastify would spend a promise and an asynchronous resource on each body, and all that it decides is decided here.
  for (const method of [...withBody, 'DELETE']) app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  app.addHook('preHandler', (request, reply, done) => {
    const parse = withBody.has(request.method) ? parserFor(request.headers) : null
    if (parse === null) done()
    else if (parse instanceof Failure) done(parse)
    else read(request, reply, parse, done)
  })
}

const withBody: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])

/** The fields of the request's body; none when it has no body. */
export function fieldsOf(request: FastifyRequest): Fields {
  return (request.body as Fields | undefined | null) ?? none
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

/** Waits for the whole body, which becomes the request's fields. One that is too large is not waited for. */
function read(request: FastifyRequest, reply: FastifyReply, parse: Parse, done: HookHandlerDoneFunction): void {
  const { raw, headers } = request
  if (raw.destroyed) {
    // While its key was looked up.
    done(cutOff)
    return
  }
  if (Number(headers['content-length'] ?? 0) > largestBody) {
    refuseLarge(reply, done)
    return
  }
  if (isAwaitingContinue(raw)) reply.raw.writeContinue()
  const chunks: Buffer[] = []
  let length = 0
  raw.on('data', (chunk: Buffer) => {
    const before = length
    length += chunk.length
    if (length <= largestBody) chunks.push(chunk)
    else if (before <= largestBody) refuseLarge(reply, done)
  })
  raw.on('end', () => {
    if (length <= largestBody) done(fill(request, parse, chunks))
  })
  raw.on('error', () => {
    if (length <= largestBody) done(cutOff)
  })
}

/** The client left, or the parser lost it, in the middle of the body: nobody reads this answer. */
const cutOff = new Failure('malformed_request', 'The body ended before its time.')

/** RFC 9110 §10.1.1: not for HTTP/1.0, and an expectation that nobody knows is ignored. */
function isAwaitingContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.expect?.toLowerCase() === '100-continue' && httpVersion !== '1.0'
}

/** The connection is closed behind the answer, since the rest of the body may still come. */
function refuseLarge(reply: FastifyReply, done: HookHandlerDoneFunction): void {
  addHeader(reply, 'connection', 'close')
  done(new Failure('body_too_large', 'The body is larger than 64 KiB.'))
}

function fill(request: FastifyRequest, parse: Parse, chunks: readonly Buffer[]): Failure | undefined {
  const [first] = chunks
  try {
    request.body = parse(first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks))
    return undefined
  } catch (error) {
    return error as Failure
  }
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
  if (bytes.length === 0) return none
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
