import { isUtf8 } from 'node:buffer'
import { Failure } from '../errors.ts'
import { addField, type Fields, maxFields } from './form-encoding.ts'

const headersEnd = '\r\n\r\n'
/** The maximum size of the headers of a part in bytes. */
const maxHeaderBytes = 4 * 1024

/**
 * Parses a form with files (RFC 7578), as browsers send it. A file becomes a `Buffer`, and a control without a chosen file
 * ''. Returns `malformed_body` for any other syntax, text that is not UTF-8, or too many parts.
 */
export function parseMultipart(bytes: Buffer, contentType: string, max = maxFields): Fields | Failure {
  const boundary = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;,"]{1,70}))/i.exec(contentType)
  const fields = boundary === null ? 'The boundary is missing.' : parse(bytes, `--${boundary[1] ?? boundary[2]}`, max)
  return typeof fields === 'string' ? new Failure('malformed_body', `The form is not valid. ${fields}`) : fields
}

/** Returns whether the body has files. */
export function isMultipart(contentType: string | undefined): contentType is string {
  return /^multipart\/form-data\s*;/i.test(contentType ?? '')
}

/** Returns the fields, or a sentence that says what is wrong. */
function parse(bytes: Buffer, boundary: string, max: number): Fields | string {
  const fields: Record<string, unknown> = Object.create(null)
  let at = bytes.indexOf(boundary)
  if (at !== 0) return 'It does not start with its boundary.'
  for (let count = 0; ; count++) {
    at += boundary.length
    if (bytes.toString('latin1', at, at + 2) === '--') return fields
    if (count === max) return `At most ${max} fields may be sent.`
    const contentAt = bytes.subarray(at, at + maxHeaderBytes).indexOf(headersEnd) + at + headersEnd.length
    const end = bytes.indexOf(`\r\n${boundary}`, contentAt)
    if (contentAt < at + headersEnd.length || end < 0) return 'It ends in the middle of a field.'
    const part = readPart(bytes.subarray(at, contentAt), bytes.subarray(contentAt, end))
    if (typeof part === 'string') return part
    addField(fields, part.name, part.value)
    at = end + 2
  }
}

/** Returns the name and the value of a field, or a sentence that says what is wrong. */
function readPart(headers: Buffer, content: Buffer): { name: string; value: string | Buffer } | string {
  const disposition = /\r\ncontent-disposition:\s*form-data\s*(;.*)\r\n/i.exec(headers.toString('utf8'))?.[1] ?? ''
  const [name, fileName] = [parameterIn(disposition, 'name'), parameterIn(disposition, 'filename')]
  if (name === undefined) return 'A field has no name.'
  if (fileName !== undefined) return { name, value: fileName !== '' || content.length > 0 ? content : '' }
  return isUtf8(content) ? { name, value: content.toString('utf8') } : 'The text is not valid UTF-8.'
}

/** Returns the value of a parameter, in which browsers encode three characters. */
function parameterIn(disposition: string, parameter: string): string | undefined {
  const [, value] = new RegExp(`;\\s*${parameter}="([^"]*)"`, 'i').exec(disposition) ?? []
  return value?.replace(/%(22|0D|0A)/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}
