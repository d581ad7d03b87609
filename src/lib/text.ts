import { Refusal } from '../violations.ts'

/**
 * Folds the case of a text, and ignores whether emoji are colored (U+FE0E and U+FE0F). Returns NFC. "ß" and "SS" fold to the
 * same text, and "ς" and "σ". Idempotent.
 */
export function foldCase(sent: string): string {
  if (isAscii.test(sent)) return sent.toLowerCase()
  const text = sent.replace(/[\ufe0e\ufe0f]/g, '')
  // Normalizing takes quadratic time in the marks on a letter. No language needs this many.
  if (longMarks.test(text)) return text.toLowerCase()
  // NFD: composed and decomposed text must have the same result. Lower case first: 'ẞ' becomes 'ß', and only that
  // becomes 'SS'. Final sigmas: whether a sigma ends its word depends on the surrounding text.
  const folded = text.normalize('NFD').toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ')
  return folded.normalize('NFC')
}

/** Compares texts by UTF-16 code units, for `sort`. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

/** Returns the text in NFC (UAX #15), as `foldCase` does. */
export function composeText(text: string): string {
  return isAscii.test(text) || longMarks.test(text) ? text : text.normalize('NFC')
}

const longMarks = /\p{M}{64}/u
const isAscii = /^\p{ASCII}*$/u

/** The invisible characters that people paste with a text, for a class of a regular expression. */
export const pastedInvisibles = String.raw`\u00ad\u200b-\u200f\u2060\ufeff`
const blank = new RegExp(String.raw`[\s${pastedInvisibles}]`)

/** Returns the text without white space and invisible characters at its ends. */
export function trimText(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && blank.test(text.charAt(start))) start += 1
  while (start < end && blank.test(text.charAt(end - 1))) end -= 1
  return text.slice(start, end)
}

/** Decodes percent-encoded UTF-8. Returns null if it is invalid. */
export function decodePercent(encoded: string): string | null {
  try {
    return decodeURIComponent(encoded)
  } catch {
    return null
  }
}

/** Returns the text in NFC (UAX #15), or a refusal above `max` code points. NFC never shortens a text to less than a quarter. */
export function parseBoundedText(text: string, max: number): string | Refusal {
  const composed = text.length > 4 * max ? null : text.normalize('NFC')
  if (composed !== null && [...composed].length <= max) return composed
  return new Refusal('too_long', { most: max })
}
