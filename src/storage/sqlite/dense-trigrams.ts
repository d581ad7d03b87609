import type { DatabaseSync } from 'node:sqlite'
import { BoundedMap } from './bounded-map.ts'
import { query } from './prepared.ts'
import type { AnyListing } from './raw-page.ts'
import { trigramsOf } from './trigrams.ts'

/** Below this many records no trigram is worth leaving out. */
const fewRecords = 5_000
/** Neighbouring records taken from each of these many places of the account's range of ids. */
const places = 200
const neighbours = 5
/** The share of the sampled records that have a trigram that is dense. */
const denseShare = 0.1
const keptAccounts = 200

interface Learnt {
  readonly records: number
  readonly trigrams: ReadonlySet<string>
}

const none: ReadonlySet<string> = new Set()

/** Learns from samples which trigrams so many of an account's records have that looking them up does not pay. */
export class DenseTrigrams {
  readonly #learnt = new BoundedMap<string, Learnt>(keptAccounts)

  /** The dense trigrams of the account that is searched and has `records` records: a guess, learnt again as it grows. */
  of(db: DatabaseSync, listing: AnyListing, records: number): ReadonlySet<string> {
    if (records < fewRecords) return none
    const key = `${listing.of.table} ${listing.account}`
    const known = this.#learnt.get(key)
    if (known !== undefined && records < known.records * 2) return known.trigrams
    const trigrams = denseAmong(sample(db, listing))
    this.#learnt.set(key, { records, trigrams })
    return trigrams
  }
}

function sample(db: DatabaseSync, { of, account }: AnyListing): string[] {
  const records = `from ${of.table} indexed by ${of.table}_by_account where account_id = ?`
  const lowest = Number(query(db, `select min(id) ${records}`, account)[0]?.[0])
  const highest = Number(query(db, `select max(id) ${records}`, account)[0]?.[0])
  const texts: string[] = []
  for (let place = 0; place < places; place++) {
    const from = lowest + Math.floor(((highest - lowest) * place) / places)
    const found = query(
      db,
      `select ${of.searchText} ${records} and id >= ? order by id limit ?`,
      account,
      from,
      neighbours,
    )
    for (const [text] of found) texts.push(String(text))
  }
  return texts
}

function denseAmong(texts: readonly string[]): ReadonlySet<string> {
  const counts = new Map<string, number>()
  for (const text of texts) {
    for (const trigram of new Set(trigramsOf(text))) counts.set(trigram, (counts.get(trigram) ?? 0) + 1)
  }
  return new Set([...counts].filter(([, count]) => count > texts.length * denseShare).map(([trigram]) => trigram))
}
