/**
 * Values with their clicks, added up over days, and pages of them in order.
 */
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { other, type Value } from '../../storage/clicks/day-facts.ts'

/** A value is null where it is unknown, a number for the id of a link, and `other` for those that had no room. */
export interface ValueClicks {
  readonly value: string | number | null
  readonly clicks: number
}

export interface RankingPage {
  readonly sortBy: 'clicks' | 'value'
  readonly direction: 'asc' | 'desc'
  readonly offset: number
  readonly limit: number
}

/** Values that are sorted in one piece: they take the event loop a few milliseconds. */
const sortedAtOnce = 4_096

export class Ranking {
  readonly #clicks = new Map<ValueClicks['value'], number>()

  add(value: Value, clicks: number): void {
    const shown = value === other ? 'other' : value
    this.#clicks.set(shown, (this.#clicks.get(shown) ?? 0) + clicks)
  }

  /** How many values there are. */
  get size(): number {
    return this.#clicks.size
  }

  /** The clicks of all values. */
  get total(): number {
    let total = 0
    for (const clicks of this.#clicks.values()) total += clicks
    return total
  }

  /** A page of the values in order; ties in clicks by value. Any number of values is sorted without holding the event loop. */
  async page({ sortBy, direction, offset, limit }: RankingPage): Promise<ValueClicks[]> {
    if (offset >= this.size) return []
    const sign = direction === 'asc' ? 1 : -1
    const compare = sortBy === 'value' ? byValue : byClicks
    const sorted = await firstOf(this.#values(), offset + limit, (a, b) => sign * compare(a, b))
    return sorted.slice(offset)
  }

  *#values(): Generator<ValueClicks> {
    for (const [value, clicks] of this.#clicks) yield { value, clicks }
  }
}

type Compare = (a: ValueClicks, b: ValueClicks) => number

/** The first `count` in order: runs are sorted one by one and merged in pairs, with a turn of the event loop after each. */
async function firstOf(values: Iterator<ValueClicks>, count: number, compare: Compare): Promise<ValueClicks[]> {
  let runs: ValueClicks[][] = []
  for (let run = someOf(values); run.length > 0; run = someOf(values)) {
    if (runs.length > 0) await endOfTurn()
    runs.push(run.sort(compare).slice(0, count))
  }
  while (runs.length > 1) {
    const merged: ValueClicks[][] = []
    for (let at = 0; at < runs.length; at += 2) {
      await endOfTurn()
      merged.push(mergedRuns(runs[at] ?? [], runs[at + 1] ?? [], count, compare))
    }
    runs = merged
  }
  return runs.flat()
}

function someOf(values: Iterator<ValueClicks>): ValueClicks[] {
  const some: ValueClicks[] = []
  while (some.length < sortedAtOnce) {
    const { done, value } = values.next()
    if (done) break
    some.push(value)
  }
  return some
}

function mergedRuns(
  a: readonly ValueClicks[],
  b: readonly ValueClicks[],
  count: number,
  compare: Compare,
): ValueClicks[] {
  const length = Math.min(count, a.length + b.length)
  const merged: ValueClicks[] = []
  let [atA, atB] = [0, 0]
  while (merged.length < length) {
    const [ofA, ofB] = [a[atA], b[atB]]
    const takesA = ofB === undefined || (ofA !== undefined && compare(ofA, ofB) <= 0)
    merged.push((takesA ? ofA : ofB) as ValueClicks)
    if (takesA) atA += 1
    else atB += 1
  }
  return merged
}

const byClicks: Compare = (a, b) => a.clicks - b.clicks || byValue(a, b)

/** Numbers by size, then texts by code point, then null. */
const byValue: Compare = ({ value: a }, { value: b }) => {
  if (typeof a === 'string' && typeof b === 'string') return byCodePoint(a, b)
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return kindOf(a) - kindOf(b)
}

function kindOf(value: ValueClicks['value']): number {
  return typeof value === 'number' ? 0 : typeof value === 'string' ? 1 : 2
}

/** Code units compare otherwise: those of surrogate pairs stand before U+E000. */
function byCodePoint(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at++) {
    const [ofA, ofB] = [a.charCodeAt(at), b.charCodeAt(at)]
    if (ofA !== ofB) return isSurrogate(ofA) === isSurrogate(ofB) ? ofA - ofB : isSurrogate(ofA) ? 1 : -1
  }
  return a.length - b.length
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff
}
