import { isUtf8 } from 'node:buffer'
import { Failure } from '../errors.ts'
import { addField, type Fields, maxFields, noFields } from '../http/form-encoding.ts'

/**
 * Reads a JSON object (RFC 8259) into fields. A member that was sent twice is `repeated`, whatever its values:
 * `JSON.parse` would keep the last of them. Returns `malformed_body` for anything but an object, and for too many members.
 */
export function parseJson(bytes: Buffer): Fields | Failure {
  if (bytes.length === 0) return noFields
  if (!isUtf8(bytes)) return new Failure('malformed_body', 'The JSON cannot be read: it is not valid UTF-8.')
  // RFC 8259 §8.1 lets a byte order mark be ignored: some editors put one in front of every text.
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
  return fieldsOf(value as Fields, text)
}

/** `reason` is that of `JSON.parse`, which tells the place in most cases. */
export function malformedJson(reason: string): Failure {
  const [, line, column] = /\(line (\d+) column (\d+)\)/.exec(reason) ?? []
  const place = line === undefined ? '' : `: it goes wrong at line ${line}, column ${column}`
  const advice = 'Put names and texts in double quotes, and leave out commas before closing brackets.'
  return new Failure('malformed_body', `The body is not valid JSON${place}. ${advice}`)
}

function fieldsOf(object: Fields, text: string): Fields | Failure {
  const fields: Record<string, unknown> = Object.create(null)
  let members = 0
  for (const name of memberNames(text)) {
    members += 1
    if (members > maxFields) {
      return new Failure('malformed_body', `The JSON has too many members: at most ${maxFields} may be sent.`)
    }
    addField(fields, name, object[name])
  }
  return fields
}

/** The names of the outermost object's members, in order, repeated ones included. The text is known to be JSON. */
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

/** A string, with the colon that makes it a member's name. */
const stringOrName = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?/y
