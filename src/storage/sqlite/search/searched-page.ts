import type { DatabaseSync } from 'node:sqlite'
import { LruCache } from '../../../lib/lru-cache.ts'
import type { AnyListing } from '../../listing.ts'
import { countedMatches } from '../../port.ts'
import type { RawPage } from '../raw-page.ts'
import { idOf, rowidOf } from './index-file.ts'
import { changeLog, type Position } from './indexing.ts'
import { matchingPage, recordSources, type Source } from './matching-page.ts'
import { isExact, lookUp } from './words.ts'

/** Candidates that a search looks at for its total, and again for its page: twice as many as are counted. */
const maxLookedAt = 2 * countedMatches
const keptTotals = 2_000

/** Answers searches from an index that is at the present of the database, and remembers how many matches they have. */
export class Searches {
  readonly #totals = new LruCache<string, { counted: number; last: Position['last'] }>({ maxEntries: keptTotals })

  /** The page, or null when it takes a scan. Must run in a transaction. */
  page(db: DatabaseSync, listing: AnyListing, { last }: Position): RawPage | null {
    const { of, account, search, searchIn, filter } = listing
    const match = lookUp(db, listing)
    if (match === null) return null
    const isFiltered = Object.keys(filter).length > 0
    const sources = [...(isFiltered ? recordSources(listing) : []), candidatesOf(listing, match, isFiltered)]
    if (isFiltered) return matchingPage({ db, listing, sources, maxLookedAt })
    const key = JSON.stringify([of.table, account, search, searchIn])
    const page = matchingPage({ db, listing, sources, maxLookedAt }, this.#known(key, of.table, last))
    if (page !== null) this.#totals.set(key, { counted: page.totalIsExact ? page.total : countedMatches + 1, last })
    return page
  }

  /** A deletion or a change makes totals forgotten; a new record only those that could still grow. */
  #known(key: string, table: string, last: Position['last']): number | undefined {
    const known = this.#totals.get(key)
    if (known === undefined || known.last[changeLog] !== last[changeLog]) return undefined
    return known.last[table] === last[table] || known.counted > countedMatches ? known.counted : undefined
  }
}

/** What the index finds: an account's records are a range of its rowids. */
function candidatesOf({ of, search }: AnyListing, match: string, isFiltered: boolean): Source {
  return {
    id: idOf('rowid'),
    from: `${of.table}_search where ${of.table}_search match :match
      and rowid between ${rowidOf(':account', ':low')} and ${rowidOf(':account', ':high')}`,
    order: (direction) => `rowid ${direction}`,
    isExact: isExact(search ?? '') && !isFiltered,
    values: { match },
  }
}
