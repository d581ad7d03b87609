interface Entry<Value> {
  readonly value: Value
  readonly weight: number
  /** Whether it was read since it was set or last spared. */
  isUsed: boolean
}

interface LruCacheOptions<Key, Value> {
  /** Default: unlimited. */
  readonly maxEntries?: number
  /** The total weight of all entries. Default: unlimited. */
  readonly maxWeight?: number
  /** Gets each entry that is evicted, replaced or deleted. `clear` does not call it. */
  readonly onRemove?: (key: Key, value: Value) => void
}

/** The entries that one eviction spares, so that `set` takes microseconds even if all entries were read. */
const maxSpared = 32

/**
 * A cache that evicts the least recently used entries. It approximates their order with a "second chance": eviction
 * spares an entry once if it was read. So a read only sets a flag, and moves nothing.
 */
export class LruCache<Key, Value> {
  #entries = new Map<Key, Entry<Value>>()
  readonly #options: LruCacheOptions<Key, Value>
  /** The next entries to evict. Reused, because a new iterator would pass all the holes of earlier evictions. */
  #oldest: MapIterator<[Key, Entry<Value>]> | undefined
  #weight = 0

  constructor(options: LruCacheOptions<Key, Value>) {
    this.#options = options
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
    const { maxEntries = Number.POSITIVE_INFINITY, maxWeight = Number.POSITIVE_INFINITY } = this.#options
    if (weight > maxWeight || maxEntries < 1) return
    while (this.#entries.size >= maxEntries || this.#weight + weight > maxWeight) this.#evict()
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

  /** Deletes all entries, in constant time. */
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
    this.#options.onRemove?.(key, value)
  }
}
