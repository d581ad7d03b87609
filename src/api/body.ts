import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Failure } from '../errors.ts'
import { addHeader } from '../http/answer.ts'
import type { Exchange } from '../http/exchange.ts'
import { type Fields, MalformedForm, noFields, parseFormBytes } from '../http/form-encoding.ts'
import { parseJson } from './json.ts'

/** Bytes that a request body may have. */
export const maxBody = 64 * 1024

/**
 * Reads the request's body: a form or a JSON object, in UTF-8. Returns `unsupported_media_type` for anything else,
 * `malformed_body` for a body that is not what it says, `body_too_large`, and `malformed_request` if the client left.
 */
export function readBody(exchange: Exchange): Fields | Failure | Promise<Fields | Failure> {
  const parse = parserFor(exchange.headers)
  if (parse === null) return noFields
  return parse instanceof Failure ? parse : receive(exchange, parse)
}

/** Makes fields of a body, or returns `malformed_body`. */
type Parse = (bytes: Buffer) => Fields | Failure

/**
 * How the body is to be read; null if there is none. This is decided before any of it is read, so that the client need not
 * send what cannot be read (RFC 9110 §15.5.16).
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
  ['application/json', parseJson],
])

function unsupported(reason: string): Failure {
  return new Failure('unsupported_media_type', `${reason} Send ${[...parsers.keys()].join(' or ')}, in UTF-8.`)
}

/** Waits for the whole body, but not for one that is too large. */
function receive(exchange: Exchange, parse: Parse): Failure | Promise<Fields | Failure> {
  const { request, headers } = exchange
  // The client may have left while its key was looked up.
  if (request.destroyed) return cutOff
  if (Number(headers['content-length'] ?? 0) > maxBody) return refuseLarge(exchange)
  if (isAwaitingContinue(request)) exchange.response.writeContinue()
  const { promise, resolve } = Promise.withResolvers<Fields | Failure>()
  const chunks: Buffer[] = []
  let length = 0
  request.on('data', (chunk: Buffer) => {
    const before = length
    length += chunk.length
    if (length <= maxBody) chunks.push(chunk)
    else if (before <= maxBody) resolve(refuseLarge(exchange))
  })
  request.on('end', () => {
    if (length <= maxBody) resolve(parse(Buffer.concat(chunks)))
  })
  request.on('error', () => resolve(cutOff))
  return promise
}

/** The client left, or the parser lost it, in the middle of the body: this answer reaches no one. */
const cutOff = new Failure('malformed_request', 'The body ended before its time.')

/** RFC 9110 §10.1.1: not for HTTP/1.0, and an unknown expectation is ignored. */
function isAwaitingContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.expect?.toLowerCase() === '100-continue' && httpVersion !== '1.0'
}

/** The connection is closed after the answer, since the rest of the body may still come. */
function refuseLarge(exchange: Exchange): Failure {
  addHeader(exchange, 'connection', 'close')
  return new Failure('body_too_large', 'The body is larger than 64 KiB.')
}

function parsedForm(bytes: Buffer): Fields | Failure {
  const fields = parseFormBytes(bytes)
  if (!(fields instanceof MalformedForm)) return fields
  return new Failure('malformed_body', `The form cannot be read. ${fields.message}`)
}
