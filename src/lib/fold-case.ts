/**
 * Folds the case of a text: the result is the same for `text`, its upper case and its lower case, and for "ß" and "SS",
 * "ς" and "σ". The result is in NFC, and folding it again changes nothing.
 */
export function foldCase(text: string): string {
  if (isAscii.test(text)) return text.toLowerCase()
  // Normalizing takes quadratic time in the marks on a letter. No language needs this many.
  if (longMarks.test(text)) return text.toLowerCase()
  // NFD: composed and decomposed text must have the same result. Lower case first: 'ẞ' becomes 'ß', and only that
  // becomes 'SS'. Final sigmas: whether a sigma ends its word depends on the surrounding text.
  const folded = text.normalize('NFD').toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ')
  return folded.normalize('NFC')
}

const longMarks = /\p{M}{64}/u
const isAscii = /^\p{ASCII}*$/u
