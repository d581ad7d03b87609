/** The rule of aliases, and the aliases in visited and pasted text. */
import { foldCase, parseBoundedText, pastedInvisibles } from '../lib/text.ts'
import { Refusal } from '../violations.ts'

/** In code points. */
export const maxAliasLength = 128

/** The length of an imported alias, which may break the other rules, too. In code points. */
export const maxLegacyLength = 255

/** Separates the parts of the key of an exact address. No alias has control characters. */
export const keySeparator = '\u0001'

/**
 * Returns the key of an address within its domain: the folded alias. The key of an exact address also has the alias, and starts
 * with the key of the case-insensitive address, so that one range of an index has all spellings.
 */
export function addressKey(alias: string, isExact: boolean): string {
  return isExact ? `${foldCase(alias)}${keySeparator}${alias}` : foldCase(alias)
}

/** The characters of an alias, with the slashes between its segments, for a class of a regular expression. */
const characters = String.raw`\p{L}\p{M}\p{Nd}\p{Extended_Pictographic}\-_.~\/`
const hasOnlyCharacters = new RegExp(`^[${characters}]*$`, 'u')
const invisible = /\p{Default_Ignorable_Code_Point}/u
const reserved = /^(?:robots\.txt|favicon\.ico|apple-app-site-association|\.well-known(?:\/.*)?)$/

/** Numbers with an exponent, as spreadsheets write them, such as 1.23E+05 and 1,23E+05. */
export const exponent = /^(\d)(?:[.,](\d{1,14}))?E\+?(\d{1,2})$/i

/** Parses an alias. Returns it in NFC (UAX #15) with its case. Rejects paths that browsers rewrite, such as `..`. */
export function parseAlias(text: string): string | Refusal {
  const alias = parseBoundedText(text, maxAliasLength)
  if (alias instanceof Refusal) return alias
  if (alias.endsWith('+')) return new Refusal('reserved.plus')
  if (reserved.test(foldCase(alias))) return new Refusal('reserved.alias', { alias })
  const problem = findProblem(alias)
  if (problem !== null && exponent.test(alias)) return new Refusal('invalid_character.exponent', { alias })
  return problem === null ? alias : new Refusal(problem, { hint: hint(alias) })
}

function findProblem(alias: string) {
  const segments = alias.split('/')
  if (segments.includes('')) return 'empty_segment'
  if (segments.some((each) => each === '.' || each === '..')) return 'dot_segment'
  // Most aliases need no expression of emoji. Compiling it takes 30 ms, and every start parses the alias of an example.
  if (hasOnlyCharacters.test(alias) && !invisible.test(alias)) return null
  const plain = withoutEmoji(alias)
  if (invisible.test(plain)) return 'invisible_character.alias'
  return hasOnlyCharacters.test(plain) ? null : 'invalid_character.alias'
}

/** Suggests an alias that the text probably means: with hyphens for characters that no alias has. */
function hint(text: string): string {
  const plain = withoutEmoji(text)
  let at = 0
  let meant = ''
  for (const character of text) {
    const replaced = plain.slice(at, at + character.length)
    at += character.length
    if (!invisible.test(replaced)) meant += hasOnlyCharacters.test(replaced) ? character : ' '
  }
  const segments = meant.split('/').map((segment) => segment.trim().replace(/ +/g, '-'))
  const alias = segments.filter((segment) => !['', '.', '..'].includes(segment)).join('/')
  const isAlias = alias !== '' && !reserved.test(foldCase(alias)) && findProblem(alias) === null
  return isAlias ? alias : 'an alias such as summer-sale'
}

/**
 * Returns the text with letters in place of its emoji, so that positions stay the same. Some emoji are sequences of
 * characters that are invalid separately.
 */
function withoutEmoji(text: string): string {
  if (/^\p{ASCII}*$/u.test(text)) return text
  // As a constant, this expression would take 30 ms of each start.
  return text.replace(/\p{RGI_Emoji}/gv, (emoji) => 'x'.repeat(emoji.length))
}

const first = new RegExp(String.raw`(?![\p{Default_Ignorable_Code_Point}/])[${characters}]`, 'u')
const last = new RegExp(String.raw`(?![\p{Default_Ignorable_Code_Point}/.])[${characters}]`, 'gu')

/**
 * Finds the alias in text with noise: characters at either end that no alias has there, dots at the end, and repeated
 * slashes. The alias is empty if there is only noise. `after` is the noise at the end.
 */
export function findAlias(text: string): { readonly alias: string; readonly after: string } {
  const plain = withoutEmoji(text)
  const end = [...plain.matchAll(last)].at(-1)
  const stop = end === undefined ? 0 : end.index + end[0].length
  const start = plain.search(first)
  return { alias: text.slice(start, stop).replace(/\/{2,}/g, '/'), after: text.slice(stop) }
}

/** What programs put in place of "-", and invisible characters, which they insert to break or not to break lines. */
const typography = new RegExp(String.raw`[\u2010-\u2013\u2212\ufe58\ufe63\uff0d]|[${pastedInvisibles}]`, 'g')

/** Returns the text with "-" for hyphens of typography and other scripts, and without invisible characters outside emoji. */
export function withoutTypography(text: string): string {
  if (text.search(typography) < 0) return text
  const plain = withoutEmoji(text)
  return text.replace(typography, (found, at) => {
    if (plain[at] !== found) return found
    return invisible.test(found) ? '' : '-'
  })
}

/** Returns whether an import may store an alias of another service that `parseAlias` rejects. The alias is in NFC. */
export function isLegacyAlias(alias: string): boolean {
  if (alias.length > 2 * maxLegacyLength || [...alias].length > maxLegacyLength) return false
  if (/\p{Cc}/u.test(alias) || !alias.isWellFormed() || alias.endsWith('+')) return false
  return !reserved.test(foldCase(alias)) && !alias.split('/').some((each) => each === '.' || each === '..')
}
