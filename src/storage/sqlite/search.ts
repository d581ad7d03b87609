/**
 * Searches on SQLite: see `search-index.ts`. A search compares the records that the index lacks directly, so it sees every
 * committed write.
 */
import { sql } from 'kysely'
import { countQuery } from '../list.ts'
import { type AnyListing, all, filtersOf, type Sql } from '../list-filters.ts'
import {
  filtered,
  type Index,
  indexesOf,
  type ListEngine,
  type Plan,
  type Source,
  searchOf,
  spellingsOf,
} from '../list-sources.ts'
import { countedMatches } from '../port.ts'
import { idBits, idOf, maxId } from './search-index.ts'

/** Terms of fewer characters have no trigram. */
const trigramLength = 3
/** Trigrams of a term that the index looks up. More find fewer candidates, but take longer. */
const maxTrigrams = 16
/** With more records to index, a search takes about as long as a scan. */
const maxBacklog = 1_000

export class SqliteLists implements ListEngine {
  readonly select: ListEngine['select']
  readonly joinInOrder = sql`cross join`

  constructor(select: ListEngine['select']) {
    this.select = select
  }

  /** Without statistics, SQLite does not know which index is the best. */
  indexHint(index: string): Sql {
    return sql` indexed by ${sql.ref(index)}`
  }

  contains(text: Sql, term: string): Sql {
    return sql`instr(${text}, ${term}) > 0`
  }

  /** Uses the search index or the index of a filter, whichever has the fewest entries. */
  async plan(listing: AnyListing): Promise<Plan> {
    const { search } = listing
    const isIndexed = search.some((term) => isIndexable(listing, term))
    const indexes = [...indexesOf(this, listing), ...(isIndexed ? [this.#searchIndex(listing)] : [])]
    const [index] = indexes
    if (index === undefined) return { source: (each) => filtered(this, each), isSorted: true, cost: 'scan' }
    const cost = isIndexed && (await this.#isBehind(listing)) ? 'scan' : 'search'
    // Counting candidates in an index that is behind would be a scan, too.
    if (cost === 'scan' && listing.withoutScan === true) return { ...index, cost }
    // If every candidate matches, the search reads no more texts than it counts.
    const doAllMatch = search.length > 0 && areTrigrams(listing)
    if (indexes.length === 1 && doAllMatch) return { ...index, cost }
    const counts = indexes.map(({ entries }) => sql`(${countQuery(entries, countedMatches + 1)})`)
    const [row = []] = await this.select(sql`select ${sql.join(counts)}`, cost)
    const sizes = row.map(Number)
    const size = Math.min(...sizes)
    // The search is the last index. If all indexes have too many entries to count, it compares the fewest texts.
    return { ...(indexes[sizes.lastIndexOf(size)] ?? index), cost: size <= countedMatches ? cost : 'scan' }
  }

  async #isBehind(listing: AnyListing): Promise<boolean> {
    const { of, account } = listing
    const pending = { from: sql`search_changes`, where: [isPending(of.table, rangeOf(account))] }
    const count = countQuery(pending, maxBacklog + 1)
    const [row = []] = await this.select(sql`select (${count})`, 'page')
    return Number(row[0]) > maxBacklog
  }

  #searchIndex(listing: AnyListing): Index {
    const entries = this.#candidates({ ...listing, after: null })
    return { source: (each) => this.#searched(each), isSorted: true, entries }
  }

  /** Returns the matches of an indexed search, by ascending id. */
  #searched(listing: AnyListing): Source {
    const candidates = this.#candidates(listing)
    const { of } = listing
    const compared = areTrigrams(listing) ? [] : searchOf(this, listing)
    const where = [...filtersOf(listing), ...compared]
    if (where.length === 0) return candidates
    const from = sql`${candidates.from} cross join ${sql.table(of.table)} on id = ${sql.raw(idOf)}`
    return { ...candidates, from, where }
  }

  /** Returns the records that have the trigrams of the terms, and the pending records that match. */
  #candidates(listing: AnyListing): Source {
    const { of, account } = listing
    const range = rangeOf(account, listing)
    const table = sql.table(of.table)
    const index = sql.table(`${of.table}_search`)
    const pending = isPending(of.table, range)
    const matches = sql`
      select rowid as document from ${index} where ${index} match ${matchOf(listing)} and rowid ${range}
        and rowid not in (select document from search_changes where ${pending})
      union all
      select document from search_changes cross join ${table} on id = ${sql.raw(idOf)}
        where ${all([pending, sql`account_id = ${account}`, ...searchOf(this, listing)])}`
    return { from: sql`(${matches}) as matches`, id: sql.raw(idOf), sortedBy: sql`document`, where: [] }
  }
}

/** Returns the range of the account's documents, which starts or ends at `after`. */
function rangeOf(account: number, { after, direction }: Pick<AnyListing, 'after' | 'direction'> = wholeRange): Sql {
  const low = after !== null && direction === 'asc' ? Math.min(after + 1, maxId) : 0
  const high = after !== null && direction === 'desc' ? Math.min(after - 1, maxId) : maxId
  return sql`between ${documentOf(account, low)} and ${documentOf(account, high)}`
}

const wholeRange = { after: null, direction: 'asc' } as const

function documentOf(account: number, id: number): bigint {
  return (BigInt(account) << BigInt(idBits)) | BigInt(id)
}

function isPending(table: string, range: Sql): Sql {
  return all([sql`resource = ${sql.lit(table)}`, sql`document ${range}`])
}

function isIndexable(listing: AnyListing, term: string): boolean {
  return spellingsOf(listing, term).every(({ text }) => [...text].length >= trigramLength)
}

/** Whether the index finds exactly the matches of the terms. */
function areTrigrams(listing: AnyListing): boolean {
  const { search } = listing
  const isTrigram = (term: string) => {
    const [spelling, ...others] = spellingsOf(listing, term)
    return others.length === 0 && [...(spelling?.text ?? '')].length === trigramLength
  }
  return search.length <= maxTrigrams && search.every(isTrigram)
}

/**
 * Returns an FTS5 query for texts with the trigrams of the terms, in which every character is literal. The index does not
 * have the positions of trigrams, because reading them takes seconds for texts such as "aaaa…".
 */
function matchOf(listing: AnyListing): string {
  const terms = listing.search.filter((term) => isIndexable(listing, term)).map((term) => spellingsOf(listing, term))
  const [plain, spelled] = [terms.filter(({ length }) => length === 1), terms.find(({ length }) => length > 1)]
  const inAny = plain.flatMap(([spelling]) => spelling?.text ?? [])
  const queries = [
    ...(inAny.length === 0 ? [] : [queryOf(listing, inAny, listing.searchIn)]),
    // One of these terms is enough, because all are compared with the texts.
    ...(spelled === undefined
      ? []
      : [`(${spelled.map(({ text, fields }) => queryOf(listing, [text], fields)).join(' OR ')})`]),
  ]
  return queries.join(' AND ')
}

/** Returns the FTS5 query for the trigrams of texts in some of the fields. */
function queryOf({ of }: AnyListing, texts: readonly string[], fields: readonly string[]): string {
  const longestFirst = texts.toSorted((one, other) => other.length - one.length)
  const query = [...new Set(longestFirst.flatMap(trigramsOf))]
    .slice(0, maxTrigrams)
    .map((trigram) => `"${trigram.replaceAll('"', '""')}"`)
    .join(' AND ')
  return fields.length === Object.keys(of.searched).length ? query : `({${fields.join(' ')}} : (${query}))`
}

/** Returns trigrams of the term, at equal distances. */
function trigramsOf(term: string): string[] {
  const points = [...term]
  const last = points.length - trigramLength
  const count = Math.min(last + 1, maxTrigrams)
  const starts = Array.from({ length: count }, (_, at) => (count === 1 ? 0 : Math.round((at * last) / (count - 1))))
  return starts.map((start) => points.slice(start, start + trigramLength).join(''))
}
