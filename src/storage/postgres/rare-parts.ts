import type { ClientBase } from 'pg'
import { BoundedMap } from '../../bounded-map.ts'
import type { AnyListing } from './lists-sql.ts'
import { searchedText } from './lists-sql.ts'
import { runText } from './run.ts'

/** The newest records of an account, which are taken for a sample of all. Of fewer, none is worth leaving out. */
const sampled = 1_000
/** A sample is taken again after so long. Milliseconds. */
const keptMs = 600_000
const keptAccounts = 64
/** Code points of the part that the index is asked for: three trigrams. */
const partLength = 5
const gramLength = 3

interface Learnt {
  readonly until: number
  /** How many of the sampled records have each trigram. */
  readonly counts: ReadonlyMap<string, number>
}

/**
 * Finds the part of a term that the fewest records have. The index reads through the records of each trigram that it is
 * asked for, and names have parts in common: asked for "ab3k.example.com", it would read most of itself.
 */
export class RareParts {
  readonly #learnt = new BoundedMap<string, Learnt>(keptAccounts)

  /** A part of the term, by a guess that rests on the account's own records; the term itself where it is short. */
  async of(client: ClientBase, listing: AnyListing, term: string): Promise<string> {
    const points = [...term]
    if (points.length <= partLength) return term
    const counts = await this.#countsOf(client, listing)
    if (counts.size === 0) return term
    const frequency = (part: string) => gramsOf(part).reduce((sum, gram) => sum + (counts.get(gram) ?? 0), 0)
    const parts = windowsOf(points, partLength)
    return parts.reduce((rarest, part) => (frequency(part) < frequency(rarest) ? part : rarest))
  }

  async #countsOf(client: ClientBase, listing: AnyListing): Promise<Learnt['counts']> {
    const key = `${listing.of.table} ${listing.account}`
    const known = this.#learnt.get(key)
    if (known !== undefined && performance.now() < known.until) return known.counts
    const counts = count(await sample(client, listing))
    this.#learnt.set(key, { until: performance.now() + keptMs, counts })
    return counts
  }
}

async function sample(client: ClientBase, { of, account }: AnyListing): Promise<string[]> {
  const newest = `select ${searchedText(of)} from ${of.table} where account_id = $1 order by id desc limit ${sampled}`
  const rows = await runText(client, newest, [account])
  return rows.length < sampled ? [] : rows.map(([text]) => String(text))
}

function count(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const text of texts) for (const gram of new Set(gramsOf(text))) counts.set(gram, (counts.get(gram) ?? 0) + 1)
  return counts
}

function gramsOf(text: string): string[] {
  return windowsOf([...text], gramLength)
}

function windowsOf(points: readonly string[], length: number): string[] {
  return points.slice(length - 1).map((_, at) => points.slice(at, at + length).join(''))
}
