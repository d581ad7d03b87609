interface Entry<Value> {
  readonly value: Value
  readonly weight: number
  /** Whether it was read since it was set or last spared. */
  isUsed: boolean
}

/** The entries that one eviction spares, so that `set` takes microseconds even if all entries were read. */
const maxSpared = 32

/** A cache that evicts the least recently used entries: approximately, so that a read sets a flag and moves nothing. */
export class LruCache<Key, Value> {
  #entries = new Map<Key, Entry<Value>>()
  readonly #maxWeight: number
  readonly #onRemove: ((key: Key, value: Value) => void) | undefined
  /** The next entries to evict. Reused, because a new iterator would pass all the holes of earlier evictions. */
  #oldest: MapIterator<[Key, Entry<Value>]> | undefined
  #weight = 0

  /** `maxWeight` bounds the weight of all entries. `onRemove` gets entries that are evicted, replaced or deleted. */
  constructor(maxWeight: number, onRemove?: (key: Key, value: Value) => void) {
    this.#maxWeight = maxWeight
    this.#onRemove = onRemove
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    entry.isUsed = true
    return entry.value
  }

  /** Replaces the entry of the key. An entry heavier than `maxWeight` is not stored. */
  set(key: Key, value: Value, weight = 1): void {
    this.delete(key)
    if (weight > this.#maxWeight) return
    while (this.#weight + weight > this.#maxWeight) this.#evict()
    this.#entries.set(key, { value, weight, isUsed: false })
    this.#weight += weight
  }

  delete(key: Key): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    // An unused iterator would retain every hash table that the map had since.
    this.#oldest = undefined
    this.#remove(key, entry)
  }

  /** Deletes all entries, in constant time. Does not call `onRemove`. */
  clear(): void {
    this.#entries = new Map()
    this.#oldest = undefined
    this.#weight = 0
  }

  /** Evicts the oldest entry that was not read, or the entry after `maxSpared` others. */
  #evict(): void {
    for (let spared = 0; ; spared++) {
      const [key, entry] = this.#nextOldest()
      if (!entry.isUsed || spared === maxSpared) {
        this.#remove(key, entry)
        return
      }
      entry.isUsed = false
      this.#entries.delete(key)
      this.#entries.set(key, entry)
    }
  }

  /** Returns the next entry in the order of the map, which has at least one. */
  #nextOldest(): [Key, Entry<Value>] {
    this.#oldest ??= this.#entries.entries()
    const { value: oldest } = this.#oldest.next()
    if (oldest !== undefined) return oldest
    this.#oldest = undefined
    return this.#nextOldest()
  }

  #remove(key: Key, { value, weight }: Entry<Value>): void {
    this.#entries.delete(key)
    this.#weight -= weight
    this.#onRemove?.(key, value)
  }
}

/** For texts of 512 characters, these are a megabyte. */
const memoizedTexts = 2_000

/** Returns a function that reads texts, or their first `maxLength` characters, with a cache of the last results. */
export function memoized<Result>(read: (text: string) => Result, maxLength = Number.POSITIVE_INFINITY) {
  const results = new LruCache<string, Result>(memoizedTexts)
  return (whole: string): Result => {
    const text = whole.length > maxLength ? whole.slice(0, maxLength) : whole
    const cached = results.get(text)
    if (cached !== undefined) return cached
    const result = read(text)
    // A copy, because a slice would keep the text that it is part of in memory.
    results.set(Buffer.from(text).toString(), result)
    return result
  }
}
