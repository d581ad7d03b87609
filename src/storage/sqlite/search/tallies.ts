import { BoundedMap } from '../../../bounded-map.ts'
import { countedMatches } from '../../port.ts'
import { searchedText, tableInOrder } from '../ordering.ts'
import { query, queryNumber } from '../prepared.ts'
import { type IndexedTable, idOf } from './index-file.ts'
import type { Position } from './indexing.ts'
import { inIndex, parametersOf, type Search } from './sql.ts'

/** What is known of a term's matches. */
export interface Tally {
  /** Exact up to `countedMatches`; more when there are more. */
  readonly counted: number
  /** The ids of the matches, ascending; null when they are not few. */
  readonly ids: readonly number[] | null
}

const keptTallies = 1_000
/** So few matches are kept by their ids. */
const few = 50
/** Candidates that are looked at for one count: up to 30 ms of work. */
const mostLookedAt = 20_000
/** Records that are walked for one count: 2 ms of work. */
const longestWalk = 25_000
/** Where more than this share may match, a walk is likely to meet enough of them. */
const walkedShare = 0.5
/** Walking over all of so many records takes less than looking at the candidates among them. */
const shortWalk = 2_000

/**
 * Counts matches and remembers the counts: records that are new since are counted on top, a deletion or a rename makes
 * a count forgotten.
 */
export class Tallies {
  readonly #known = new BoundedMap<string, Tally & { readonly at: Position }>(keptTallies)

  /** The tally of a search at the position where the index is; null when counting takes too long. */
  of(search: Search, at: Position): Tally | null {
    const table = search.listing.of.table as IndexedTable
    const key = `${table} ${search.listing.account} ${search.term}`
    const last = this.#known.get(key)
    const known = last?.at.changes === at.changes ? last : undefined
    if (known !== undefined && (known.at[table] === at[table] || known.counted > countedMatches)) return known
    const tally = known === undefined ? countAll(search) : countOn(search, known, known.at[table])
    if (tally !== null) this.#known.set(key, { ...tally, at })
    return tally
  }
}

function countAll(search: Search): Tally | null {
  const { plan, records } = search
  const ids = plan.share > walkedShare ? null : fewIds(search, 0)
  if (ids !== null) return { counted: ids.length, ids }
  const walks = plan.share > walkedShare || (!plan.isExact && records <= shortWalk)
  const counted = (walks ? countByWalking(search) : null) ?? countAfter(search, 0)
  return counted === null ? null : { counted, ids: null }
}

function countOn(search: Search, known: Tally, after: number): Tally | null {
  const more = fewIds(search, after)
  const counted = more?.length ?? countAfter(search, after)
  if (counted === null) return null
  const ids = known.ids === null || more === null ? null : [...known.ids, ...more]
  return { counted: known.counted + counted, ids: ids !== null && ids.length > few ? null : ids }
}

/** The ids of the matches above `after`, or null when the plan's query finds more than a few. */
function fewIds(search: Search, after: number): number[] | null {
  const { of } = search.listing
  const found = `select ${idOf('rowid')} as match from ${inIndex(of)} order by rowid limit ${few + 1}`
  const looked = `select match, instr(${searchedText(of)}, :term) from (${found}) cross join ${of.table} on id = match`
  const rows = query(search.db, search.plan.isExact ? found : looked, { ...parametersOf(search), after })
  if (rows.length > few) return null
  return rows.filter(([, position]) => position !== 0).map(([id]) => Number(id))
}

/** Counts among the records with ids above `after`. Null when too many candidates would have to be looked at. */
function countAfter(search: Search, after: number): number | null {
  const { of } = search.listing
  const parameters = { ...parametersOf(search), after }
  const counted = (rows: string) => queryNumber(search.db, `select count(*) from (${rows})`, parameters)
  if (search.plan.isExact) return counted(`select 1 from ${inIndex(of)} limit ${countedMatches + 1}`)
  const candidates = `select ${idOf('rowid')} as match from ${inIndex(of)} limit ${mostLookedAt + 1}`
  const matches = counted(
    `select 1 from (${candidates}) cross join ${of.table} on id = match
      where instr(${searchedText(of)}, :term) > 0 limit ${countedMatches + 1}`,
  )
  return matches > countedMatches || counted(candidates) <= mostLookedAt ? matches : null
}

/** Null when the walk ends before the count is known. */
function countByWalking({ db, listing, term, records }: Search): number | null {
  const { of, account } = listing
  const walked = `select ${searchedText(of)} as text from ${tableInOrder(of, 'name')} where account_id = ? limit ?`
  const matching = `select 1 from (${walked}) where instr(text, ?) > 0 limit ${countedMatches + 1}`
  const matches = queryNumber(db, `select count(*) from (${matching})`, account, longestWalk, term)
  return matches > countedMatches || records <= longestWalk ? matches : null
}
