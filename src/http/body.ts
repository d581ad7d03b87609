import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Failure } from '../errors.ts'
import { addField, type Fields, MalformedForm, mostFields, parseFormBytes } from './form-encoding.ts'

/** Bytes that a request body may have. */
export const largestBody = 64 * 1024

const none: Fields = Object.freeze(Object.create(null))

/**
 * Reads request bodies into `Fields`: forms and JSON objects in UTF-8. Anything else is `unsupported_media_type`;
 * a body that is neither is `malformed_body`. DELETE ignores its body, whatever it says it is.
 */
export function readBodies(app: FastifyInstance): void {
  app.addHttpMethod('DELETE', { hasBody: false, overrideExisting: true })
  app.removeAllContentTypeParsers()
  app.addHook('preParsing', async (request, reply) => {
    refuseUnreadable(request)
    const isAwaited = Number(request.headers['content-length'] ?? 0) <= largestBody
    if (request.headers.expect !== undefined && isAwaited) reply.raw.writeContinue()
  })
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer' },
    async (_: FastifyRequest, bytes: Buffer) => parsedForm(bytes),
  )
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (_: FastifyRequest, bytes: Buffer) =>
    parsedJson(bytes),
  )
}

/** The fields of the request's body; none when it has no body. */
export function fieldsOf(request: FastifyRequest): Fields {
  return (request.body as Fields | undefined | null) ?? none
}

/** Refuses, before any of the body is read, what could not be read: RFC 9110 §15.5.16. */
function refuseUnreadable({ method, headers }: FastifyRequest): void {
  if (method === 'DELETE' || method === 'GET' || method === 'HEAD') return
  if (headers['content-encoding'] !== undefined) {
    throw unsupported('A body with a Content-Encoding is not accepted: send it as it is.')
  }
  const type = headers['content-type']
  if (!type) {
    const isEmpty = headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0
    if (isEmpty) return
    throw unsupported('The body has no Content-Type.')
  }
  const [essence = '', ...parameters] = type.split(';').map((part) => part.trim().toLowerCase())
  if (!mediaTypes.includes(essence)) throw unsupported('The media type of the body is not accepted.')
  const charsets = parameters.filter((parameter) => parameter.startsWith('charset='))
  if (charsets.every((charset) => /^charset=(?:utf-8|"utf-8")$/.test(charset))) return
  throw unsupported('The charset of the body is not accepted.')
}

const mediaTypes = ['application/x-www-form-urlencoded', 'application/json']

function unsupported(reason: string): Failure {
  return new Failure('unsupported_media_type', `${reason} Send ${mediaTypes.join(' or ')}, in UTF-8.`)
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
  const text = bytes.toString('utf8')
  const value = parsed(text)
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw new Failure('malformed_body', 'The JSON must be an object, such as {"name": "go.acme.com"}.')
  }
  return withRepeated(value, text)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Failure('malformed_body', 'The body is not valid JSON.')
  }
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
