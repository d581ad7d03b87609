/** What a space may be called. Pure rules. */
import { Refusal } from '../errors.ts'
import { boundedNfc } from '../names/bounded-text.ts'

/** Code points. */
export const maxNameLength = 255
/** What the colours 1 to 6 are called. */
export const colors = ['green', 'red', 'amber', 'blue', 'dark', 'brand']

/** The name in Unicode normalisation form C (UAX #15), at most 255 code points. The text is trimmed and not empty. */
export function parseSpaceName(text: string): string | Refusal {
  return (
    boundedNfc(text, maxNameLength) ??
    new Refusal('too_long', `The name must be at most ${maxNameLength} characters long.`)
  )
}
