import { countedMatches } from '../port.ts'
import { BoundedMap } from './bounded-map.ts'
import { query, queryNumber } from './prepared.ts'
import { idOf } from './search-file.ts'
import type { Position } from './search-index.ts'
import { type SearchPlan, wholeTerm } from './search-plan.ts'
import { inIndex, parametersOf, type Search } from './search-sql.ts'

/** What is known of a term's matches. */
export interface Tally {
  /** Exact up to `countedMatches`; more when there are more. */
  readonly counted: number
  /** The ids of the matches, ascending; null when they are not few. */
  readonly ids: readonly number[] | null
  /** How the matches are found best. */
  readonly plan: SearchPlan
}

const keptTallies = 1_000
/** So few matches are kept by their ids. */
const few = 50
/** Records that are looked at in one search, however slow the alternative. */
const mostLookedAt = 20_000

/**
 * Counts matches and remembers the counts: records that are new since are counted on top, a deletion or a rename makes
 * a count forgotten.
 */
export class Tallies {
  readonly #known = new BoundedMap<string, Tally & { readonly at: Position }>(keptTallies)

  /** The tally of a search at the position where the index is. */
  of(search: Search, at: Position): Tally {
    const { table } = search.listing.of
    const key = `${table} ${search.listing.account} ${search.term}`
    const last = this.#known.get(key)
    const known = last?.at.changes === at.changes ? last : undefined
    if (known !== undefined && (known.at[table] === at[table] || known.counted > countedMatches)) return known
    const tally = known === undefined ? count(search, 0) : countOn(search, known, known.at[table])
    this.#known.set(key, { ...tally, at })
    return tally
  }
}

function countOn(search: Search, known: Tally, after: number): Tally {
  const more = count({ ...search, plan: known.plan }, after)
  const ids = known.ids === null || more.ids === null ? null : [...known.ids, ...more.ids]
  return { counted: known.counted + more.counted, ids: ids !== null && ids.length > few ? null : ids, plan: more.plan }
}

/** Counts among the records with ids above `after`. */
function count(search: Search, after: number): Tally {
  const { plan, term } = search
  const ids = fewIds(search, after)
  if (ids !== null) return { counted: ids.length, ids, plan }
  const looked = plan.worthwhile === null ? null : countByLooking(search, plan.worthwhile, after)
  if (looked !== null) return { counted: looked, ids: null, plan }
  const whole = wholeTerm(term)
  return { counted: countInIndex({ ...search, plan: whole }, after), ids: null, plan: whole }
}

/** The ids of the matches, or null when the plan's query finds more than a few. */
function fewIds(search: Search, after: number): number[] | null {
  const { of } = search.listing
  const found = `select ${idOf('rowid')} as match from ${inIndex(of)} order by rowid limit ${few + 1}`
  const looked = `select match, instr(${of.searchText}, :term) from (${found}) cross join ${of.table} on id = match`
  const isWhole = search.plan.worthwhile === null
  const rows = query(search.db, isWhole ? found : looked, { ...parametersOf(search), after })
  if (rows.length > few) return null
  return rows.filter(([, position]) => position !== 0).map(([id]) => Number(id))
}

/** Null when there is more to look at than is worthwhile. */
function countByLooking(search: Search, worthwhile: number, after: number): number | null {
  const { of } = search.listing
  const most = Math.min(mostLookedAt, Math.ceil(worthwhile * search.records))
  const counted = `select count(*), sum(instr(${of.searchText}, :term) > 0)
    from (select ${idOf('rowid')} as match from ${inIndex(of)} limit :most + 1)
    cross join ${of.table} on id = match`
  const [[candidates, matches] = []] = query(search.db, counted, { ...parametersOf(search), after, most })
  return Number(candidates) > most ? null : Number(matches)
}

function countInIndex(search: Search, after: number): number {
  const counted = `select count(*) from (select 1 from ${inIndex(search.listing.of)} limit ${countedMatches + 1})`
  return queryNumber(search.db, counted, { ...parametersOf(search), after })
}
