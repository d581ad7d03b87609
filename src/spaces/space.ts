/** What a space may be called. Pure rules. */
import { Refusal } from '../errors.ts'

/** Code points. */
export const longestName = 255
export const leastColor = 1
export const mostColor = 6

/** The name in Unicode normalisation form C (UAX #15), at most 255 code points. The text is trimmed and not empty. */
export function parseSpaceName(text: string): string | Refusal {
  const name = text.normalize('NFC')
  if (name.length <= longestName || [...name].length <= longestName) return name
  return new Refusal('too_long', `The name must be at most ${longestName} characters long.`)
}
