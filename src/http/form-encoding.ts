import { isUtf8 } from 'node:buffer'

/** Raw values by field name: text, any JSON value, or `repeated`. */
export type Fields = Readonly<Record<string, unknown>>

/** The fields of a request without any. */
export const noFields: Fields = Object.freeze(Object.create(null))

/** The value of a repeated field, or of a name with brackets, which some clients use for arrays. */
export const repeated = Symbol('repeated')

/** The maximum number of fields in a request: enough for every operation, and few enough to report each violation. */
export const maxFields = 100

/** The text is not `application/x-www-form-urlencoded`. The message contains the position. */
export class MalformedForm {
  readonly message: string
  constructor(message: string) {
    this.message = message
  }
}

/**
 * Parses `application/x-www-form-urlencoded` bytes (URL Standard §5.1) strictly: invalid percent-encoding and invalid UTF-8
 * are errors.
 */
export function parseFormBytes(bytes: Buffer, most = maxFields): Fields | MalformedForm {
  return isUtf8(bytes) ? parseQuery(bytes.toString('utf8'), most) : new MalformedForm('The text is not valid UTF-8.')
}

/** Parses the query of a request target, or a form in valid text, in the same way. */
export function parseQuery(text: string, most = maxFields): Fields | MalformedForm {
  const fields: Record<string, unknown> = Object.create(null)
  if (text === '') return fields
  let sent = 0
  for (const pair of text.split('&')) {
    if (pair === '') continue
    sent += 1
    if (sent > most) return new MalformedForm(`At most ${most} fields may be sent.`)
    const equals = pair.indexOf('=')
    const name = decoded(equals < 0 ? pair : pair.slice(0, equals))
    const value = equals < 0 ? '' : decoded(pair.slice(equals + 1))
    if (name instanceof MalformedForm) return name
    if (value instanceof MalformedForm) return value
    addField(fields, name, value)
  }
  return fields
}

/** Adds a value, or marks the field as repeated. */
export function addField(fields: Record<string, unknown>, name: string, value: unknown): void {
  const plain = name.endsWith(']') ? name.replace(/\[[^[\]]*\]$/, '') : name
  fields[plain] = plain in fields || plain !== name ? repeated : value
}

function decoded(component: string): string | MalformedForm {
  const spaced = component.includes('+') ? component.replaceAll('+', ' ') : component
  if (!spaced.includes('%')) return spaced
  try {
    return decodeURIComponent(spaced)
  } catch {
    return new MalformedForm(
      `The percent-encoding of "${component.slice(0, 64)}" is broken, or not of UTF-8; a literal "%" is written "%25".`,
    )
  }
}
