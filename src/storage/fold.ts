/**
 * Case folding: search and order take no notice of case.
 */

/**
 * The form of `text` in which two texts that differ in case alone are equal: the same for `text`, its upper case and
 * its lower case, and for "ß" and "SS", "ς" and "σ". The result is in NFC, and folding it again changes nothing.
 */
export function foldCase(text: string): string {
  if (isAscii.test(text)) return text.toLowerCase()
  // Normalising takes quadratic time in the marks on a letter; no language needs this many.
  if (longMarks.test(text)) return text.toLowerCase()
  // Lower case first brings 'ẞ' to 'ß', which only then becomes 'SS'; decomposing first keeps the outcome the same for
  // composed and decomposed text; and whether a sigma is the last of its word depends on what surrounds it.
  const folded = text.normalize('NFD').toLowerCase().toUpperCase().toLowerCase().replaceAll('ς', 'σ')
  return folded.normalize('NFC')
}

const longMarks = /\p{M}{64}/u
const isAscii = /^\p{ASCII}*$/u
