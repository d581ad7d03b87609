import { Refusal } from '../errors.ts'

/**
 * Returns the text in Unicode normalization form C (UAX #15), or a refusal if it then has more than `max` code points. Longer
 * text is not normalized, because that takes quadratic time for marks, and never shortens a text to a quarter.
 */
export function parseBoundedText(text: string, label: string, max: number): string | Refusal {
  const composed = text.length > 4 * max ? null : text.normalize('NFC')
  if (composed !== null && [...composed].length <= max) return composed
  return new Refusal('too_long', `The ${label} must be at most ${max} characters long.`)
}
