import type { ClientBase } from 'pg'
import { LruCache } from '../../lib/lru-cache.ts'
import { type AnyListing, searchedTexts } from '../listing.ts'
import { runText } from './run.ts'

/** An account's newest records stand for all of them. With fewer, every lookup is fast. */
const sampleSize = 1_000
const sampleLifetimeMs = 600_000
const maxSamples = 64
/** Code points of the part that the index is asked for: three trigrams. */
const partLength = 5
const trigramLength = 3

interface Sample {
  readonly expires: number
  /** The number of sampled records that have each trigram. */
  readonly counts: ReadonlyMap<string, number>
}

/**
 * Finds the part of a term that the fewest records have. The index reads the whole list of each trigram that it is
 * asked for, and names share parts: asked for "ab3k.example.com", it would read most of itself.
 */
export class RareParts {
  readonly #samples = new LruCache<string, Sample>({ maxEntries: maxSamples })

  /**
   * A part of the term, by an estimate from the account's own records; a short term itself. Throws as `runText` does.
   */
  async of(client: ClientBase, listing: AnyListing, term: string): Promise<string> {
    const parts = windows(term, partLength)
    if (parts.length < 2) return term
    const counts = await this.#countsOf(client, listing)
    if (counts.size === 0) return term
    const frequency = (part: string) =>
      windows(part, trigramLength).reduce((sum, trigram) => sum + (counts.get(trigram) ?? 0), 0)
    return parts.reduce((rarest, part) => (frequency(part) < frequency(rarest) ? part : rarest))
  }

  async #countsOf(client: ClientBase, listing: AnyListing): Promise<Sample['counts']> {
    const { of, account } = listing
    const text = `concat_ws(chr(10), ${searchedTexts(listing)})`
    const key = `${of.table} ${account} ${text}`
    const known = this.#samples.get(key)
    if (known !== undefined && performance.now() < known.expires) return known.counts
    const newest = `select ${text} from ${of.table} where account_id = $1 order by id desc limit ${sampleSize}`
    const rows = await runText(client, newest, [account])
    const counts = new Map<string, number>()
    for (const [sampled] of rows.length < sampleSize ? [] : rows)
      for (const trigram of new Set(windows(String(sampled), trigramLength)))
        counts.set(trigram, (counts.get(trigram) ?? 0) + 1)
    this.#samples.set(key, { expires: performance.now() + sampleLifetimeMs, counts })
    return counts
  }
}

/** All parts of `text` that are `length` code points long. */
function windows(text: string, length: number): string[] {
  const points = [...text]
  return points.slice(length - 1).map((_, at) => points.slice(at, at + length).join(''))
}
