import { setImmediate as nextTick } from 'node:timers/promises'
import { other, type Value } from '../day.ts'

/** The value is null if unknown, a number for a link's id, and `other` for values beyond a day's limit. */
export interface ValueClicks {
  readonly value: string | number | null
  readonly clicks: number
}

interface RankingPage {
  readonly sortBy: 'clicks' | 'value'
  readonly direction: 'asc' | 'desc'
  readonly offset: number
  readonly limit: number
  /** Returns the text that replaces a value when values are sorted. */
  readonly textOf?: (value: string) => string
}

/** Values that are compared with a search in one event-loop tick. */
const filteredTogether = 5_000

/** The most values of a ranking. A year of a domain has up to 73,000, but a tag's links can have more. */
const maxValues = 75_000

/** Values with the sum of their clicks. If there are more than 75,000, the rarest become `other`. */
export class Ranking {
  readonly #values = new Map<ValueClicks['value'], { readonly value: ValueClicks['value']; clicks: number }>()

  add(value: Value, clicks: number): void {
    const shown = value === other ? 'other' : value
    const known = this.#values.get(shown)
    if (known !== undefined) known.clicks += clicks
    else {
      if (this.size > maxValues) this.#combineRarest()
      this.#values.set(shown, { value: shown, clicks })
    }
  }

  /** Turns the rarest half of the values into `other`. Takes some milliseconds. */
  #combineRarest(): void {
    const named = [...this.#values.values()].filter(({ value }) => value !== 'other')
    const half = Math.floor(named.length / 2)
    const limit = Float64Array.from(named, ({ clicks }) => clicks).sort()[half] ?? 0
    const rarest = named.filter(({ clicks }) => clicks < limit)
    // Values with the same clicks as the most frequent of them: the latest stay, because they may get more clicks.
    const rest = named.filter(({ clicks }) => clicks === limit).slice(0, half - rarest.length)
    for (const { value, clicks } of [...rarest, ...rest]) {
      this.#values.delete(value)
      this.add(other, clicks)
    }
  }

  /** The number of values. */
  get size(): number {
    return this.#values.size
  }

  /** The values that are ids. */
  get ids(): number[] {
    return [...this.#values.keys()].filter((value) => typeof value === 'number')
  }

  /** The clicks of all values. */
  get total(): number {
    return this.#values.values().reduce((sum, { clicks }) => sum + clicks, 0)
  }

  /** Returns the clicks of a value. */
  countClicks(value: ValueClicks['value']): number {
    return this.#values.get(value)?.clicks ?? 0
  }

  /** Returns the values that pass the test, with their clicks. The event loop gets ticks in between. */
  async filter(passes: (value: ValueClicks['value']) => boolean): Promise<Ranking> {
    const found = new Ranking()
    let count = 0
    for (const [value, known] of this.#values) {
      if (++count % filteredTogether === 0) await nextTick()
      if (passes(value)) found.#values.set(value, known)
    }
    return found
  }

  /** Returns the clicks under other values. */
  renamed(rename: (value: ValueClicks['value']) => ValueClicks['value']): Ranking {
    const renamed = new Ranking()
    for (const { value, clicks } of this.#values.values()) renamed.add(rename(value), clicks)
    return renamed
  }

  /** Returns a page of the values, sorted by clicks and then by value. The event loop gets ticks in between. */
  async page({ sortBy, direction, offset, limit, textOf }: RankingPage): Promise<ValueClicks[]> {
    if (offset >= this.size) return []
    const sign = direction === 'asc' ? 1 : -1
    const named = ({ value, clicks }: ValueClicks) => ({
      value: typeof value === 'string' && textOf ? textOf(value) : value,
      clicks,
    })
    const byText: Compare = textOf ? (a, b) => byValue(named(a), named(b)) || byValue(a, b) : byValue
    const compare: Compare = sortBy === 'value' ? byText : byClicks
    return sortedSlice([...this.#values.values()], offset, offset + limit, (a, b) => sign * compare(a, b))
  }
}

type Compare = (a: ValueClicks, b: ValueClicks) => number

/** Fewer values are sorted whole. */
const minPartition = 1_000

/** Returns part of the sorted values. Partitions the rest, because sorting many would block the event loop. */
async function sortedSlice(values: ValueClicks[], from: number, to: number, compare: Compare): Promise<ValueClicks[]> {
  if (values.length <= minPartition) return values.sort(compare).slice(from, to)
  await nextTick()
  const pivot = values[Math.floor(Math.random() * values.length)] as ValueClicks
  const before: ValueClicks[] = []
  const after: ValueClicks[] = []
  for (const value of values) (compare(value, pivot) < 0 ? before : after).push(value)
  const rest = before.length
  return [
    ...(from < rest ? await sortedSlice(before, from, Math.min(to, rest), compare) : []),
    ...(to > rest ? await sortedSlice(after, Math.max(0, from - rest), to - rest, compare) : []),
  ]
}

const byClicks: Compare = (a, b) => a.clicks - b.clicks || byValue(a, b)

/** Numbers by size, then texts by code point, then null. */
const byValue: Compare = ({ value: a }, { value: b }) => {
  if (typeof a === 'string' && typeof b === 'string') return byCodePoint(a, b)
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return typeRank(a) - typeRank(b)
}

function typeRank(value: ValueClicks['value']): number {
  return typeof value === 'number' ? 0 : typeof value === 'string' ? 1 : 2
}

const surrogate = /[\ud800-\udfff]/

function byCodePoint(a: string, b: string): number {
  if (a === b) return 0
  // `<` compares UTF-16 code units. Their order differs from that of code points only for surrogates.
  if (!surrogate.test(a) && !surrogate.test(b)) return a < b ? -1 : 1
  let at = 0
  while (a[at] === b[at]) at += 1
  return (a.codePointAt(at) ?? -1) - (b.codePointAt(at) ?? -1)
}
