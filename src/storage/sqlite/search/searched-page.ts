import type { DatabaseSync } from 'node:sqlite'
import { BoundedMap } from '../../../bounded-map.ts'
import { countedMatches } from '../../port.ts'
import type { AnyListing, RawPage } from '../raw-page.ts'
import { idOf, rowidOf } from './index-file.ts'
import { changeLog, type Position } from './indexing.ts'
import { matchingPage, recordSources, type Source } from './matching-page.ts'
import { isExact, lookUp } from './words.ts'

/** Candidates that one search looks at for its total, and again for its page: twice as many as are counted. */
const maxLookedAt = 2 * countedMatches
const keptTotals = 2_000

/** Answers searches from an index that is at the present of the database, and remembers how many matches a term has. */
export class Searches {
  readonly #totals = new BoundedMap<string, { counted: number; last: Position['last'] }>(keptTotals)

  /** The page, or null when it takes a scan. Must run in a transaction. */
  page(db: DatabaseSync, listing: AnyListing, { last }: Position): RawPage | null {
    const { of, account, search, searchIn, filter = {} } = listing
    const match = lookUp(db, listing)
    if (match === null) return null
    const isFiltered = Object.keys(filter).length > 0
    const candidates = candidatesOf(listing, match)
    const sources = isFiltered ? [candidates, ...recordSources(listing)] : [candidates]
    const key = JSON.stringify([of.table, account, search, searchIn])
    const known = isFiltered ? undefined : this.#known(key, of.table, last)
    const found = matchingPage({ db, listing, sources, maxLookedAt }, known)
    if (found === null) return null
    if (!isFiltered) this.#totals.set(key, { counted: found.counted, last })
    return found.page
  }

  /** Any deletion or change makes a total forgotten; a new record only one that could still grow. */
  #known(key: string, table: string, last: Position['last']): number | undefined {
    const known = this.#totals.get(key)
    if (known === undefined || known.last[changeLog] !== last[changeLog]) return undefined
    return known.last[table] === last[table] || known.counted > countedMatches ? known.counted : undefined
  }
}

/** What is found in the index, whose rowids hold an account's records as a range. */
function candidatesOf({ of, search, filter = {} }: AnyListing, match: string): Source {
  const found = `${of.table}_search as found`
  const inRange = `${of.table}_search match :match
    and found.rowid between ${rowidOf(':account', ':low')} and ${rowidOf(':account', ':high')}`
  const id = idOf('found.rowid')
  const whole = isExact(search ?? '') && Object.keys(filter).length === 0
  return {
    id,
    from: whole ? `${found} where ${inRange}` : `${found} cross join ${of.table} on id = ${id} where ${inRange}`,
    order: (direction) => `found.rowid ${direction}`,
    isExact: whole,
    values: { match },
  }
}
