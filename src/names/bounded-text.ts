/**
 * Returns the text in Unicode normalization form C (UAX #15); null if it then has more than `max` code points. Longer text
 * is not normalized, because that takes quadratic time for marks, and never shortens a text to a quarter.
 */
export function boundedNfc(text: string, max: number): string | null {
  if (text.length > 8 * max) return null
  const composed = text.length > 4 * max ? text : text.normalize('NFC')
  return [...composed].length > max ? null : composed
}
