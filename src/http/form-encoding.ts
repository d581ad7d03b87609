import { isUtf8 } from 'node:buffer'

/** Values by field name, as they were sent: text, what JSON held, or an array where a field came more than once. */
export type Fields = Readonly<Record<string, unknown>>

/** Those of a request that sends none. */
export const noFields: Fields = Object.freeze(Object.create(null))

/** Fields that one request may send; enough for every operation, few enough to report on each of them. */
export const mostFields = 100

/** The text is not `application/x-www-form-urlencoded`; the message says where. */
export class MalformedForm extends Error {}

/**
 * Reads `application/x-www-form-urlencoded` bytes (URL Standard §5.1) strictly: percent-encoding that is broken and
 * bytes that are not UTF-8 throw `MalformedForm` instead of being repaired.
 */
export function parseFormBytes(bytes: Buffer): Fields {
  if (!isUtf8(bytes)) throw new MalformedForm('The text is not valid UTF-8.')
  return parseForm(bytes.toString('utf8'))
}

/**
 * Reads the query of a request target, which the parser of HTTP has seen to be ASCII. What is malformed is returned, not
 * thrown: the router, which calls this, has nobody to catch it.
 */
export function parseQuery(query: string): Fields | MalformedForm {
  try {
    return parseForm(query)
  } catch (error) {
    if (error instanceof MalformedForm) return error
    throw error
  }
}

/** Adds a value to fields under construction; a second one for the same name makes an array. */
export function addField(fields: Record<string, unknown>, name: string, value: unknown): void {
  const plain = name.endsWith(']') ? name.replace(/\[[^[\]]*\]$/, '') : name
  if (plain in fields) fields[plain] = [fields[plain], value]
  else fields[plain] = plain === name ? value : [value]
}

function parseForm(text: string): Fields {
  const fields: Record<string, unknown> = Object.create(null)
  if (text === '') return fields
  let sent = 0
  for (const pair of text.split('&')) {
    if (pair === '') continue
    sent += 1
    if (sent > mostFields) throw new MalformedForm(`At most ${mostFields} fields may be sent.`)
    const equals = pair.indexOf('=')
    const name = equals < 0 ? pair : pair.slice(0, equals)
    addField(fields, decoded(name), equals < 0 ? '' : decoded(pair.slice(equals + 1)))
  }
  return fields
}

function decoded(component: string): string {
  const spaced = component.includes('+') ? component.replaceAll('+', ' ') : component
  if (!spaced.includes('%')) return spaced
  try {
    return decodeURIComponent(spaced)
  } catch {
    throw new MalformedForm(
      `The percent-encoding of "${component.slice(0, 64)}" is broken, or not of UTF-8; a literal "%" is written "%25".`,
    )
  }
}
