import { Refusal } from '../violations.ts'

/** Returns the text in NFC (UAX #15), or a refusal above `max` code points. NFC never quarters a text. */
export function parseBoundedText(text: string, max: number): string | Refusal {
  const composed = text.length > 4 * max ? null : text.normalize('NFC')
  if (composed !== null && [...composed].length <= max) return composed
  return new Refusal('too_long', { most: max })
}
