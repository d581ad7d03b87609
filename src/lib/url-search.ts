/** The texts that a search in URLs compares, so that it finds every spelling. */
import { domainToUnicode } from 'node:url'
import { decodePercent, foldCase } from './text.ts'

/** The escapes of one character in UTF-8 (RFC 3629 §4). Some overlong sequences match, too. */
const escapedCharacter =
  /%[0-7][\da-f]|%[cd][\da-f]%[89ab][\da-f]|%e[\da-f](?:%[89ab][\da-f]){2}|%f[0-7](?:%[89ab][\da-f]){3}/gi
const escapes = /(?:%[\da-f]{2})+/gi
/** Control characters, and what stands for invalid UTF-8. Their escapes stay. */
const notText = /[\p{Cc}\ufffd]/u
/** A whole A-label (RFC 5890 §2.3.2.1). At the end of a term, it may be cut from a longer label. */
const aLabel = /(?<![a-z\d-])xn--[a-z\d-]{1,59}(?=[^a-z\d-])/gi
/** Non-ASCII characters, escapes, A-labels, and the ASCII that the URL Standard escapes. */
const hasSpellings = /[^\0-\x7f]|["%'<>^`{}]|xn--/i
/** A part of an escaped character at the start or the end of a term, which was cut from a longer text. */
const cutEscape =
  /^%[89ab][\da-f]|%(?:[\da-f]?|[cd][\da-f]|e[\da-f](?:%[89ab][\da-f])?|f[0-4](?:%[89ab][\da-f]){0,2})$/i

/**
 * Returns the spellings of a stored URL, folded, in lines: with as few escapes and A-labels as possible, and with all. They
 * contain the `urlTerm` of each part of the URL, however the part is spelled.
 */
export function foldUrl(url: string): string {
  if (!hasSpellings.test(url)) return foldCase(url)
  const href = URL.parse(url)?.href ?? url
  const spellings = [decode(url), decode(href), href].map(foldCase)
  return spellings.filter((text, at) => !spellings.slice(0, at).some((earlier) => earlier.includes(text))).join('\n')
}

/** Returns the spelling of a folded search term that `foldUrl` contains. */
export function urlTerm(term: string): string {
  return cutEscape.test(term) ? term : foldCase(decode(term))
}

function decodeCharacter(escaped: string): string {
  const character = Buffer.from(escaped.replaceAll('%', ''), 'hex').toString()
  return notText.test(character) ? escaped : character
}

/** Decodes the escapes of characters, except of control characters, and A-labels. */
function decode(text: string): string {
  return text
    .replace(escapes, (run) => {
      // Most runs are text. Decoding each character separately takes several times as long.
      const text = decodePercent(run)
      return text === null || notText.test(text) ? run.replace(escapedCharacter, decodeCharacter) : text
    })
    .replace(aLabel, (label) => domainToUnicode(label))
}
