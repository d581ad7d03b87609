interface Entry<Value> {
  readonly value: Value
  readonly weight: number
  /** Whether it was read since it was set or last spared. */
  isUsed: boolean
}

export interface LruCacheOptions<Key, Value> {
  /** The number of entries. Default: unlimited. */
  readonly maxEntries?: number
  /** The weight of all entries together. Default: unlimited. */
  readonly maxWeight?: number
  /** Gets each entry that leaves the cache: evicted, replaced, deleted or cleared. */
  readonly onRemove?: (key: Key, value: Value) => void
}

/**
 * A cache that evicts the least recently used entries. It approximates their order with a "second chance": eviction
 * spares an entry once if it was read. So a read only sets a flag, and moves nothing.
 */
export class LruCache<Key, Value> {
  readonly #entries = new Map<Key, Entry<Value>>()
  readonly #options: LruCacheOptions<Key, Value>
  /** The next entries to evict. Reused, because a new iterator would pass all the holes of earlier evictions. */
  #oldest: MapIterator<[Key, Entry<Value>]> | undefined
  #weight = 0

  constructor(options: LruCacheOptions<Key, Value>) {
    this.#options = options
  }

  /** The number of entries. */
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
    if (weight > maxWeight) return
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

  clear(): void {
    for (const key of this.#entries.keys()) this.delete(key)
  }

  /** Evicts the oldest entry, or spares it. */
  #evict(): void {
    this.#oldest ??= this.#entries.entries()
    const { value: oldest } = this.#oldest.next()
    if (oldest === undefined) {
      this.#oldest = undefined
      return
    }
    const [key, entry] = oldest
    if (entry.isUsed) {
      entry.isUsed = false
      this.#entries.delete(key)
      this.#entries.set(key, entry)
    } else this.#remove(key, entry)
  }

  #remove(key: Key, { value, weight }: Entry<Value>): void {
    this.#entries.delete(key)
    this.#weight -= weight
    this.#options.onRemove?.(key, value)
  }
}
