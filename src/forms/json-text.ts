/** JSON in a field: its text, and the lists and objects in it. */
import { Failure } from '../errors.ts'
import { repeated } from '../http/form-encoding.ts'
import { JsonReader, type TextPosition } from '../http/json-reader.ts'
import { Refusal } from '../violations.ts'

/** Parses a text of a few KiB. Returns `malformed_json`, with the position, if it is no JSON. */
export function readJsonText(text: string): { readonly value: unknown; readonly reader: JsonReader } | Refusal {
  const reader = new JsonReader(text, malformed)
  try {
    return { value: reader.readShort(), reader }
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

/** In UTF-16 code units. */
const shownToken = 20

function malformed(at: TextPosition, token: string): Refusal {
  const [line = ''] = token.split('\n', 1)
  const shown = line === token && token.length <= shownToken ? token : `${line.slice(0, shownToken)}…`.toWellFormed()
  return new Refusal('malformed_json', { ...at, problem: token === '' ? 'it ends too early' : `unexpected ${shown}` })
}

/** Returns a value that is a list with at most `most` items, or its refusal. */
export function listIn(raw: unknown, most: number): readonly unknown[] | Refusal {
  if (!Array.isArray(raw)) return new Refusal(raw === repeated ? 'not_single' : 'not_a_list')
  return raw.length > most ? new Refusal('too_many', { most }) : raw
}

/** Returns the refusal of a value that is no object, or has more members than `most`; null for other objects. */
export function objectRefusal(raw: unknown, most: number): Refusal | null {
  if (raw === repeated) return new Refusal('not_single')
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return new Refusal('not_an_object')
  // Parsed JSON has a failure instead of an object with very many members.
  return raw instanceof Failure || Object.keys(raw).length > most ? new Refusal('too_many', { most }) : null
}
