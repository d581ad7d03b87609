/**
 * The text in Unicode normalisation form C (UAX #15); null if it then has more than `max` code points. Text of any length
 * takes no longer than it should: normalising takes quadratic time in the marks on a letter, and never shortens a text to a
 * quarter.
 */
export function boundedNfc(text: string, max: number): string | null {
  if (text.length > 8 * max) return null
  const composed = text.length > 4 * max ? text : text.normalize('NFC')
  return [...composed].length > max ? null : composed
}
