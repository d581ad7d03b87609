/**
 * The search index, on one page.
 *
 * What is indexed: for every character of a searched text, the word that begins there: three characters, fewer at the
 * end of the text, behind a letter that stands for the column. A character is a code point. For each word FTS5 keeps
 * the list of the records that have it, and for each beginning of a word too, through `prefix`.
 *
 * How a term is looked up: one of up to three characters is a beginning of a word, and the records of that one list are
 * the matches. A longer term is looked up by the three of its words that the fewest records have, which `samples`
 * estimates; every record that has all three is a candidate, and its own text decides.
 *
 * What holds in the worst case: a search reads the lists of three words per column, no longer than the account has
 * records, and looks at no more than `maxLookedAt` candidates. One that needs more is left to the scan, which looks at
 * all records of the account. Pages and totals are exact either way.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { AnyListing } from '../../listing.ts'
import { query } from '../prepared.ts'

const wordLength = 3
/** Each further word costs a list to read and tells little more. */
const maxWords = 3

/**
 * Options of the FTS5 table. Words end at control characters alone; the tokenizer would also end them at the other
 * characters of ASCII but letters and digits. Prefixes count the letter of the column.
 */
export const tableOptions = `detail = none, prefix = '2 3', tokenize = "ascii tokenchars '${quoted(
  quoted(String.fromCharCode(...Array.from({ length: 0x7f - 0x20 }, (_, index) => 0x20 + index)), "'"),
  '"',
)}'"`

/** The words of the texts of one record's searched columns, a line each. */
export function wordsOf(texts: readonly unknown[]): string {
  let words = ''
  texts.forEach((text, column) => {
    if (text === null) return
    const letter = letterOf(column)
    for (const part of String(text).split(control)) {
      for (const word of wordsFrom(part)) words += `${letter}${word}\n`
    }
  })
  return words
}

/** An FTS5 query for what may match, or null where the index cannot tell. */
export function lookUp(db: DatabaseSync, { of, search, searchIn }: AnyListing): string | null {
  const term = search ?? ''
  if (control.test(term)) return null
  const names = Object.keys(of.searched)
  const letters = searchIn.map((name) => letterOf(names.indexOf(name)))
  if (isExact(term)) {
    const star = [...term].length < wordLength ? '*' : ''
    return letters.map((letter) => `"${quoted(letter + term, '"')}"${star}`).join(' OR ')
  }
  const whole = [...new Set(wordsFrom(term))].filter((word) => [...word].length === wordLength)
  const words = letters.map((letter) => whole.map((word) => letter + word))
  const counted = query(
    db,
    `select word, records from ${of.table}_samples where word in (select value from json_each(?))`,
    JSON.stringify(words.flat()),
  )
  const counts = new Map(counted.map(([word, records]) => [word, Number(records)]))
  const count = (word: string) => counts.get(word) ?? 0
  return words
    .map((own) => own.toSorted((a, b) => count(a) - count(b)).slice(0, maxWords))
    .map((rarest) => `(${rarest.map((word) => `"${quoted(word, '"')}"`).join(' AND ')})`)
    .join(' OR ')
}

/** Whether all that the query for a term finds are matches. */
export function isExact(term: string): boolean {
  return [...term].length <= wordLength
}

function wordsFrom(text: string): string[] {
  // Code units are faster, where they are the code points.
  const points = surrogate.test(text) ? [...text] : null
  return Array.from({ length: (points ?? text).length }, (_, at) =>
    points === null ? text.slice(at, at + wordLength) : points.slice(at, at + wordLength).join(''),
  )
}

const control = /\p{Cc}/u
const surrogate = /[\ud800-\udfff]/

function letterOf(column: number): string {
  return String.fromCharCode(0x61 + column)
}

function quoted(text: string, quote: '"' | "'"): string {
  return text.replaceAll(quote, quote + quote)
}
