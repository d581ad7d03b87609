import { countedMatches } from '../port.ts'
import { BoundedMap } from './bounded-map.ts'

const keptTotals = 1_000

/** How many matches a term had in the records up to an id, as long as no indexed record changes. */
interface KnownTotal {
  readonly changes: number
  readonly upTo: number
  readonly counted: number
}

/** Remembers totals: new records are counted on top of what is known, deletions and renames make it forgotten. */
export class MatchTotals {
  readonly #known = new BoundedMap<string, KnownTotal>(keptTotals)

  /** `count(after)` counts the matches above an id, up to `upTo`. */
  total(key: string, now: { changes: number; upTo: number }, count: (after: number) => number): number {
    const known = this.#known.get(key)
    const holds = known !== undefined && known.changes === now.changes
    if (holds && (known.upTo === now.upTo || known.counted > countedMatches)) return known.counted
    const counted = holds ? known.counted + count(known.upTo) : count(0)
    this.#known.set(key, { ...now, counted })
    return counted
  }
}
