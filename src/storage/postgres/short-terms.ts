/** Finds terms of one or two characters, which have no trigram, with indexes. */
import type { AnyListing } from '../list-filters.ts'
import { listSpellings } from '../list-sources.ts'
import { letters, lettersEnd } from '../migrations/letters.ts'
import { type Sql, sqlPart } from '../sql-text.ts'

/** Two characters from which `pg_trgm` makes trigrams. */
const inTrigrams = /^[a-z0-9]{2}$/
/** Terms that the index of `letters` contains: at least one character is not ASCII, and none is the separator. */
const inLetters = new RegExp(`^(?=.*[^\\u0001-\\u007f])[^${lettersEnd}]{1,2}$`, 'su')
/** PostgreSQL's pattern for an ASCII character. */
const ascii = '[\\u0001-\\u007f]'

/** Returns conditions that all matches of the listing's short terms meet. Indexes find the records that meet them. */
export function buildShortTerms(listing: AnyListing): Sql[] {
  return listing.search.flatMap((term) => {
    const [spelling, ...others] = listSpellings(listing, term)
    if (others.length > 0 || spelling?.text !== term) return []
    const hasLetters = sqlPart`${sqlPart.raw(letters(Object.values(listing.of.searched)))} @> array[${term}]::text[]`
    if (inLetters.test(term)) return [hasLetters]
    if (!inTrigrams.test(term)) return []
    // `pg_trgm` can search for the term together with the ASCII character before or after it.
    const pattern = `${ascii}${term}|${term}${ascii}`
    const hasTrigram = Object.values(listing.of.searched).map((text) => sqlPart`${sqlPart.raw(text)} ~ ${pattern}`)
    return [sqlPart`(${sqlPart.join([...hasTrigram, hasLetters], ' or ')})`]
  })
}
