/** Folds the case of a text. Returns NFC. "ß" and "SS" fold to the same text, and "ς" and "σ". Idempotent. */
export function foldCase(text: string): string {
  // Normalizing takes quadratic time in the marks on a letter. No language needs this many.
  if (isAscii.test(text) || longMarks.test(text)) return text.toLowerCase()
  // NFD: composed and decomposed text must have the same result. Lower case first: 'ẞ' becomes 'ß', and only that
  // becomes 'SS'. Final sigmas: whether a sigma ends its word depends on the surrounding text.
  const folded = text.normalize('NFD').toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ')
  return folded.normalize('NFC')
}

const longMarks = /\p{M}{64}/u
const isAscii = /^\p{ASCII}*$/u
