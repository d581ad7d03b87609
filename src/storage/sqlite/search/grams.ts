/**
 * What the search index is made of: for every character of a text, the gram that begins there. A character is a code
 * point, a gram at most `gramLength` of them, fewer at the end of the text. So every part of a text that is no longer
 * than a gram is the beginning of one.
 */
export const gramLength = 5

/** The grams of a text as words for FTS5's tokenizer "ascii". */
export function gramText(text: string): string {
  const word = toWord(text)
  let grams = ''
  if (isWithoutPairs.test(word)) {
    for (let at = 0; at < word.length; at++) grams += `${word.slice(at, at + gramLength)} `
    return grams
  }
  const points = [...word]
  for (let at = 0; at < points.length; at++) grams += `${points.slice(at, at + gramLength).join('')} `
  return grams
}

const isWithoutPairs = /^[^\ud800-\udfff]*$/

/** The grams of full length of a text, in order; none of a shorter text. */
export function fullGramsOf(text: string): string[] {
  const points = [...text]
  return points.slice(gramLength - 1).map((_, at) => points.slice(at, at + gramLength).join(''))
}

/** An FTS5 query for the texts that have a gram which is or begins with `part`, at most `gramLength` characters. */
export function beginningWith(part: string): string {
  const isWhole = [...part].length === gramLength
  return `"${toWord(part)}"${isWhole ? '' : '*'}`
}

/**
 * The tokenizer parts words at the characters of ASCII that are neither letters nor digits. A capital letter stands
 * for each of them: case-folded text has no capitals, so that no two texts become the same.
 */
function toWord(text: string): string {
  return text.replace(separator, (character) => capitals[character.charCodeAt(0)] as string)
}

const separator = /[^a-z0-9\u0080-\uffff]/g

/** By code; of two bytes each, which ASCII's own capitals would be but for the tokenizer, which folds them. */
const capitals = standIns()

function standIns(): string[] {
  // Cyrillic, then Armenian.
  let next = 0x400
  return Array.from({ length: 0x80 }, (_, code) => {
    const character = String.fromCharCode(code)
    if (/[a-z0-9]/i.test(character)) return character
    if (next === 0x430) next = 0x531
    return String.fromCharCode(next++)
  })
}
