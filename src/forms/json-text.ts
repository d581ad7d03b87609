/** JSON in the text of a field. */

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
