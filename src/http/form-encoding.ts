import { isUtf8 } from 'node:buffer'
import { Failure } from '../errors.ts'
import { decodePercent } from '../lib/text.ts'

/** Raw values by field name: text, any JSON value, or `repeated`. */
export type Fields = Readonly<Record<string, unknown>>

export const noFields: Fields = Object.freeze(Object.create(null))

/** Returns the text of an unread value; '' for lists, objects and missing values, which have none. */
export function readText(value: unknown): string {
  return value === undefined || typeof value === 'object' ? '' : String(value)
}

/** The value of a repeated field, or of a name with brackets, which some clients use for arrays. */
export const repeated = Object.freeze({ repeated: true })

/** The maximum number of fields in a request: enough for every operation, and few enough to report each violation. */
export const maxFields = 100

/** Parses a form (URL Standard §5.1). Returns `malformed_body` for invalid encoding or too many fields. */
export function parseForm(bytes: Buffer, max = maxFields): Fields | Failure {
  const fields = isUtf8(bytes) ? parse(bytes.toString('utf8'), max) : 'The text is not valid UTF-8.'
  if (typeof fields === 'string') return new Failure('malformed_body', `The form is not valid. ${fields}`)
  forms.add(fields)
  return fields
}

const forms = new WeakSet<Fields>()

/** Returns whether fields are those of a form, in which an ampersand ends a value. */
export function isForm(fields: Fields): boolean {
  return forms.has(fields)
}

/** Parses the query of a request target like a form. Returns `malformed_url`. */
export function parseQuery(text: string): Fields | Failure {
  const fields = parse(text, maxFields)
  if (typeof fields !== 'string') return fields
  return new Failure('malformed_url', `The query of the URL is not valid. ${fields}`)
}

/** Returns the fields, or a sentence that says what is wrong. */
function parse(text: string, max: number): Fields | string {
  const fields: Record<string, unknown> = Object.create(null)
  if (text === '') return fields
  let count = 0
  for (const pair of text.split('&')) {
    if (pair === '') continue
    count += 1
    if (count > max) return `At most ${max} fields may be sent.`
    const equals = pair.indexOf('=')
    const [encodedName, encodedValue] = equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)]
    const name = decode(encodedName)
    const value = decode(encodedValue)
    if (name === null || value === null) {
      const broken = (name === null ? encodedName : encodedValue).slice(0, 64)
      return `The percent-encoding of "${broken}" is broken or not UTF-8. Write a literal "%" as "%25".`
    }
    addField(fields, name, value)
  }
  return fields
}

/** Adds a value, or marks the field as repeated. */
export function addField(fields: Record<string, unknown>, name: string, value: unknown): void {
  const plain = name.endsWith(']') ? name.replace(/\[[^[\]]*\]$/, '') : name
  fields[plain] = plain in fields || plain !== name ? repeated : value
}

/** Returns null for invalid percent-encoding. */
function decode(component: string): string | null {
  const spaced = component.replaceAll('+', ' ')
  return spaced.includes('%') ? decodePercent(spaced) : spaced
}
