/** A map with at most `capacity` entries: when it is full, the oldest makes room. */
export class BoundedMap<Key, Value> {
  readonly #entries = new Map<Key, Value>()
  readonly #capacity: number

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)
  }

  get size(): number {
    return this.#entries.size
  }

  delete(key: Key): void {
    this.#entries.delete(key)
  }

  clear(): void {
    this.#entries.clear()
  }

  set(key: Key, value: Value): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size <= this.#capacity) return
    const [oldest] = this.#entries.keys()
    this.#entries.delete(oldest as Key)
  }
}
