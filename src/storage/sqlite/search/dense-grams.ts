import type { DatabaseSync } from 'node:sqlite'
import { BoundedMap } from '../../../bounded-map.ts'
import { searchedText } from '../ordering.ts'
import { query } from '../prepared.ts'
import type { AnyListing } from '../raw-page.ts'
import { fullGramsOf } from './grams.ts'

/** Below this many records no gram is worth leaving out. */
const fewRecords = 2_000
/** Neighbouring records taken from each of these many places of the account's range of ids. */
const places = 250
const neighbours = 4
/** A gram is dense when more than this share of the sampled records have it. */
const leastShare = 0.003
const keptAccounts = 64

/** The dense grams of an account, with the share of its records that have each. */
export type Shares = ReadonlyMap<string, number>

interface Learnt {
  readonly records: number
  readonly shares: Shares
}

const none: Shares = new Map()

/** Learns from samples which grams so many of an account's records have that looking them up does not pay. */
export class DenseGrams {
  readonly #learnt = new BoundedMap<string, Learnt>(keptAccounts)

  /** Of the account that is searched and has `records` records: a guess, made again when the records have doubled. */
  of(db: DatabaseSync, listing: AnyListing, records: number): Shares {
    if (records < fewRecords) return none
    const key = `${listing.of.table} ${listing.account}`
    const known = this.#learnt.get(key)
    if (known !== undefined && records < known.records * 2) return known.shares
    const shares = denseAmong(sample(db, listing))
    this.#learnt.set(key, { records, shares })
    return shares
  }
}

function sample(db: DatabaseSync, { of, account }: AnyListing): string[] {
  const records = `from ${of.table} indexed by ${of.table}_by_account where account_id = ?`
  const lowest = Number(query(db, `select min(id) ${records}`, account)[0]?.[0])
  const highest = Number(query(db, `select max(id) ${records}`, account)[0]?.[0])
  const texts: string[] = []
  for (let place = 0; place < places; place++) {
    // Not at even distances, at which names that were made by counting have the same digits.
    const from = lowest + Math.floor(((highest - lowest) * (place + Math.random())) / places)
    const found = query(
      db,
      `select ${searchedText(of)} ${records} and id >= ? order by id limit ?`,
      account,
      from,
      neighbours,
    )
    for (const [text] of found) texts.push(String(text))
  }
  return texts
}

function denseAmong(texts: readonly string[]): Shares {
  const counts = new Map<string, number>()
  for (const text of texts) {
    for (const gram of new Set(fullGramsOf(text))) counts.set(gram, (counts.get(gram) ?? 0) + 1)
  }
  const shares = [...counts].map(([gram, count]): [string, number] => [gram, count / texts.length])
  return new Map(shares.filter(([, share]) => share > leastShare))
}
