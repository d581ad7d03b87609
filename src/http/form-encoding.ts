import { isUtf8 } from 'node:buffer'

/** Values by field name, as they were sent: text, what JSON held, or `repeated`. */
export type Fields = Readonly<Record<string, unknown>>

/** The fields of a request that sends none. */
export const noFields: Fields = Object.freeze(Object.create(null))

/** Stands for the values of a field that was sent more than once, or under a name with brackets, as arrays are. */
export const repeated = Symbol('repeated')

/** Fields that one request may send: enough for every operation, few enough to report on each of them. */
export const maxFields = 100

/** The text is not `application/x-www-form-urlencoded`; the message says where. */
export class MalformedForm {
  readonly message: string
  constructor(message: string) {
    this.message = message
  }
}

/**
 * Reads `application/x-www-form-urlencoded` bytes (URL Standard §5.1) strictly: broken percent-encoding and bytes that are
 * not UTF-8 are not repaired.
 */
export function parseFormBytes(bytes: Buffer, most = maxFields): Fields | MalformedForm {
  return isUtf8(bytes) ? parseQuery(bytes.toString('utf8'), most) : new MalformedForm('The text is not valid UTF-8.')
}

/** Reads the query of a request target, or a form that is known to be well-formed text, as strictly. */
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

/** Adds a value to fields under construction. */
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
