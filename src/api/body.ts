import type { IncomingHttpHeaders } from 'node:http'
import { Failure } from '../errors.ts'
import { receiveBody } from '../http/body.ts'
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

async function receive(exchange: Exchange, parse: Parse): Promise<Fields | Failure> {
  const bytes = await receiveBody(exchange, maxBody)
  return bytes instanceof Failure ? bytes : parse(bytes)
}

function parsedForm(bytes: Buffer): Fields | Failure {
  const fields = parseFormBytes(bytes)
  if (!(fields instanceof MalformedForm)) return fields
  return new Failure('malformed_body', `The form cannot be read. ${fields.message}`)
}
