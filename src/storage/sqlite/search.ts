/**
 * Searches on SQLite: see `search-index.ts`. A search compares the records that the index lacks directly, so it sees every
 * committed write.
 */
import { countQuery, storedCount } from '../list.ts'
import { type AnyListing, all, buildFilters, countFilters, omitsArchived } from '../list-filters.ts'
import {
  buildSearch,
  type Cost,
  filtered,
  type Index,
  type ListEngine,
  listIndexes,
  listSpellings,
  type Plan,
  type Source,
} from '../list-sources.ts'
import { countedMatches } from '../port.ts'
import { type Sql, sqlPart } from '../sql-text.ts'
import { idBits, idOf, maxId, padding } from './search-index.ts'

/** Terms of fewer characters have no trigram. */
const trigramLength = 3
/** Trigrams of a term that the index looks up. More find fewer candidates, but take longer. */
const maxTrigrams = 16
/** The most candidates whose texts are compared without looking for a better index, also as a share of the account's records. */
const [maxRare, maxRareShare] = [1_000, 0.1]
/** With more records to index, a search takes about as long as a scan. */
const maxBacklog = 1_000
/** Short terms are looked up among the records of all accounts if the account has a sixteenth as many as the highest id. */
const minShare = 16
const lastCharacter = '\u{10ffff}'
const idle = { isBehind: false, isLarge: false, rare: maxRare }

export class SqliteLists implements ListEngine {
  readonly select: ListEngine['select']
  readonly joinInOrder = sqlPart`cross join`

  constructor(select: ListEngine['select']) {
    this.select = select
  }

  /** Without statistics, SQLite does not know which index is the best. */
  indexHint(index: string): Sql {
    return sqlPart` indexed by ${sqlPart.ref(index)}`
  }

  contains(text: Sql, term: string): Sql {
    return sqlPart`instr(${text}, ${term}) > 0`
  }

  /**
   * Uses the index of the rarest part of a listing: a term or a filter. If no part is rare, uses all long terms together. An
   * index whose entries all match needs no count, because the list reads no more of them than it counts.
   */
  async plan(listing: AnyListing): Promise<Plan> {
    const { search } = listing
    const { isBehind, isLarge, rare: most } = await this.#state(listing)
    const long = search.filter((term) => isIndexable(listing, term))
    const short = search.filter((term) => isLarge && isShort(listing, term))
    const filters = listIndexes(this, listing)
    const letters = short.map((term) => this.#shortIndex(listing, term))
    const parts = [...filters, ...letters, ...long.map((term) => this.#searchIndex(listing, [term]))]
    const [index] = parts
    if (index === undefined) return { source: (each) => filtered(this, each), isSorted: true, cost: 'scan' }
    const cost = isBehind && parts.length > filters.length ? 'scan' : 'search'
    // Counting candidates in a stale index would be a scan, too.
    if (cost === 'scan' && listing.withoutScan === true) return { ...index, cost }
    const isChoice = parts.length > 1 || letters.length > 0
    const rare = isChoice && (await this.#smallest(parts, most, cost))
    if (rare) return { ...rare, cost }
    // Without longer terms, letters are read once, because all accounts have them.
    const indexes = long.length === 0 ? filters : [...filters, ...letters, this.#searchIndex(listing, long)]
    const last = indexes.at(-1)
    if (last === undefined) return { ...index, cost: 'scan' }
    const isOnly = indexes.length === 1 && countFilters(listing) === filters.length
    if (isOnly && areTrigrams(listing) && !(await this.archivesMany(listing))) return { ...last, cost }
    const smallest = await this.#smallest(indexes, countedMatches, cost)
    // The search is the last index. If all indexes have too many entries to count, it compares the fewest texts.
    return { ...(smallest ?? last), cost: smallest === undefined ? 'scan' : cost }
  }

  async archivesMany(listing: AnyListing): Promise<boolean> {
    const { of, account } = listing
    if (of.archived === undefined || !omitsArchived(listing)) return false
    const [row = []] = await this.select(sqlPart`select ${storedCount(account, of.archived.count)}`, 'page')
    return Number(row[0]) > countedMatches
  }

  /** Returns the index with the fewest entries; undefined if all have more than `max`. */
  async #smallest(indexes: readonly Index[], max: number, cost: Cost): Promise<Index | undefined> {
    const counts = indexes.map(({ entries }) => sqlPart`(${countQuery(entries, max + 1)})`)
    const [row = []] = await this.select(sqlPart`select ${sqlPart.join(counts)}`, cost)
    const sizes = row.map(Number)
    const size = Math.min(...sizes)
    return size <= max ? indexes[sizes.lastIndexOf(size)] : undefined
  }

  /**
   * Returns whether the index lacks many records, whether the account has many compared with the highest id, and the most
   * candidates of a rare term. If it has few, comparing every record is faster than looking up short terms among all accounts.
   * The exact number of records would be a sum over all accounts.
   */
  async #state(listing: AnyListing): Promise<typeof idle> {
    const { of, account, search } = listing
    if (search.length === 0) return idle
    const pending = { from: sqlPart`search_changes`, where: [isPending(of.table, matchRange(account))] }
    const own = sqlPart`select total from record_counts where account_id = ${account} and resource = ${sqlPart.lit(of.table)}`
    const [row = []] = await this.select(
      sqlPart`select (${countQuery(pending, maxBacklog + 1)}), (${own}), (select max(id) from ${sqlPart.ref(of.table)})`,
      'page',
    )
    const [backlog, total, all] = row.map(Number)
    return {
      isBehind: Number(backlog) > maxBacklog,
      isLarge: Number(total) * minShare >= Number(all),
      rare: Math.min(maxRare, Math.ceil(Number(total) * maxRareShare)),
    }
  }

  /** Returns the index of records that have these terms of the search. */
  #searchIndex(listing: AnyListing, terms: readonly string[]): Index {
    const isExact = (term: string) => terms.length <= maxTrigrams && terms.includes(term) && isTrigram(listing, term)
    const compared = listing.search.filter((term) => !isExact(term))
    const index = sqlPart.ref(`${listing.of.table}_search`)
    const found = sqlPart`select rowid as document from ${index} where ${index} match ${buildMatch(listing, terms)}`
    return this.#createIndex(listing, found, sqlPart`rowid`, compared)
  }

  /** Returns the index of records with a term of one or two characters, which starts one of their trigrams. */
  #shortIndex(listing: AnyListing, term: string): Index {
    const end = term + lastCharacter.repeat(trigramLength - [...term].length)
    const from = sqlPart.ref(`${listing.of.table}_terms`)
    const startsTrigram = sqlPart`term >= ${term} and term <= ${end}`
    const found = sqlPart`select distinct doc as document from ${from}
      where ${startsTrigram} and col in (${sqlPart.join(listing.searchIn)})`
    const others = listing.search.filter((other) => other !== term)
    // The trigrams of all accounts are read.
    const entries = { from, where: [startsTrigram] }
    return { ...this.#createIndex(listing, found, sqlPart`doc`, others), isSorted: false, entries }
  }

  /** Returns the index of the documents that a query finds. Their texts are compared with some terms of the search. */
  #createIndex(listing: AnyListing, found: Sql, document: Sql, compared: readonly string[]): Index {
    const source = (each: AnyListing): Source => {
      const candidates = this.#withPending(each, found, document)
      const where = [...buildFilters(each), ...buildSearch(this, { ...each, search: compared })]
      if (where.length === 0) return candidates
      const from = sqlPart`${candidates.from} cross join ${sqlPart.ref(each.of.table)} on id = ${sqlPart.raw(idOf)}`
      return { ...candidates, from, where }
    }
    // Without pending records, which are few, the size is exact enough for a choice.
    const entries = {
      from: sqlPart`(${found} and ${document} ${matchRange(listing.account)}) as candidates`,
      where: [],
    }
    return { source, isSorted: true, entries }
  }

  /** Returns the documents that a query has found in the index, and the pending records that match. */
  #withPending(listing: AnyListing, found: Sql, document: Sql): Source {
    const { of, account } = listing
    const range = matchRange(account, listing)
    const pending = isPending(of.table, range)
    const matches = sqlPart`
      ${found} and ${document} ${range} and ${document} not in (select document from search_changes where ${pending})
      union all
      select document from search_changes cross join ${sqlPart.ref(of.table)} on id = ${sqlPart.raw(idOf)}
        where ${all([pending, sqlPart`account_id = ${account}`, ...buildSearch(this, listing)])}`
    return { from: sqlPart`(${matches}) as matches`, id: sqlPart.raw(idOf), sortedBy: sqlPart`document`, where: [] }
  }
}

/** Returns the range of the account's documents, which starts or ends at `after`. */
function matchRange(account: number, { after, direction }: Pick<AnyListing, 'after' | 'direction'> = wholeRange): Sql {
  const low = after !== null && direction === 'asc' ? Math.min(after + 1, maxId) : 0
  const high = after !== null && direction === 'desc' ? Math.min(after - 1, maxId) : maxId
  return sqlPart`between ${documentId(account, low)} and ${documentId(account, high)}`
}

const wholeRange = { after: null, direction: 'asc' } as const

function documentId(account: number, id: number): bigint {
  return (BigInt(account) << BigInt(idBits)) | BigInt(id)
}

function isPending(table: string, range: Sql): Sql {
  return all([sqlPart`resource = ${sqlPart.lit(table)}`, sqlPart`document ${range}`])
}

function isIndexable(listing: AnyListing, term: string): boolean {
  return listSpellings(listing, term).every(({ text }) => [...text].length >= trigramLength)
}

/** Whether the index finds exactly the matches of the term. */
function isTrigram(listing: AnyListing, term: string): boolean {
  return isPlain(listing, term) && [...term].length === trigramLength
}

function areTrigrams(listing: AnyListing): boolean {
  return listing.search.every((term) => isTrigram(listing, term))
}

function isShort(listing: AnyListing, term: string): boolean {
  return isPlain(listing, term) && [...term].length < trigramLength
}

/** Whether all texts have the same spelling of the term, and it can't be a part of what the index has after each text. */
function isPlain(listing: AnyListing, term: string): boolean {
  const [spelling, ...others] = listSpellings(listing, term)
  return others.length === 0 && spelling?.text === term && !term.includes(padding)
}

/**
 * Returns an FTS5 query for texts with the trigrams of the terms, in which every character is literal. The index does not
 * have the positions of trigrams, because reading them takes seconds for texts such as "aaaa…".
 */
function buildMatch(listing: AnyListing, terms: readonly string[]): string {
  const spellings = terms.map((term) => listSpellings(listing, term))
  const [plain, spelled] = [spellings.filter(({ length }) => length === 1), spellings.find(({ length }) => length > 1)]
  const inAny = plain.flatMap(([spelling]) => spelling?.text ?? [])
  const queries = [
    ...(inAny.length === 0 ? [] : [buildQuery(listing, inAny, listing.searchIn)]),
    // One of these terms is enough, because all are compared with the texts.
    ...(spelled === undefined
      ? []
      : [`(${spelled.map(({ text, fields }) => buildQuery(listing, [text], fields)).join(' OR ')})`]),
  ]
  return queries.join(' AND ')
}

/** Returns the FTS5 query for the trigrams of texts in some of the fields. */
function buildQuery({ of }: AnyListing, texts: readonly string[], fields: readonly string[]): string {
  const longestFirst = texts.toSorted((one, other) => other.length - one.length)
  const query = [...new Set(longestFirst.flatMap(chooseTrigrams))]
    .slice(0, maxTrigrams)
    .map((trigram) => `"${trigram.replaceAll('"', '""')}"`)
    .join(' AND ')
  return fields.length === Object.keys(of.searched).length ? query : `({${fields.join(' ')}} : (${query}))`
}

/** Returns trigrams of the term that overlap little: more of them take longer, and hardly exclude more texts. */
function chooseTrigrams(term: string): string[] {
  const points = [...term]
  const last = points.length - trigramLength
  const count = Math.min(Math.ceil(last / trigramLength), maxTrigrams - 1)
  const starts = Array.from({ length: count + 1 }, (_, at) => (count === 0 ? 0 : Math.round((at * last) / count)))
  return starts.map((start) => points.slice(start, start + trigramLength).join(''))
}
