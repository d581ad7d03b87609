/** What the cache must know of an entry. */
interface Entry {
  readonly id: number
}

interface Kept<Value> {
  readonly key: string
  readonly value: Value
  readonly weight: number
}

/** The entries of one age, by key and by id. */
class Generation<Value extends Entry> {
  readonly byKey = new Map<string, Kept<Value>>()
  readonly byId = new Map<number, Kept<Value>>()
  weight = 0

  add(kept: Kept<Value>): void {
    this.byKey.set(kept.key, kept)
    this.byId.set(kept.value.id, kept)
    this.weight += kept.weight
  }

  remove(kept: Kept<Value> | undefined): void {
    if (kept === undefined) return
    this.byKey.delete(kept.key)
    this.byId.delete(kept.value.id)
    this.weight -= kept.weight
  }
}

/**
 * Entries by key and by id, of two generations. What is asked for moves to the younger one; when that has the greatest
 * weight, the older one is dropped and the younger one becomes the older. So what was asked for lately stays, and a hit
 * among the young writes nothing.
 */
export class LinkCache<Value extends Entry> {
  readonly #maxWeight: number
  #young = new Generation<Value>()
  #old = new Generation<Value>()

  /** `maxWeight` is that of one generation. */
  constructor(maxWeight: number) {
    this.#maxWeight = maxWeight
  }

  get size(): number {
    return this.#young.byId.size + this.#old.byId.size
  }

  get(key: string): Value | undefined {
    const young = this.#young.byKey.get(key)
    if (young !== undefined) return young.value
    const old = this.#old.byKey.get(key)
    if (old === undefined) return undefined
    this.#old.remove(old)
    this.#add(old)
    return old.value
  }

  /** Also takes the place of what there is with the key or the id. */
  set(key: string, value: Value, weight: number): void {
    this.forget(key, value.id)
    this.#add({ key, value, weight })
  }

  /** Forgets what there is with the key, and what there is with the id. */
  forget(key: string, id: number): void {
    for (const generation of [this.#young, this.#old]) generation.remove(generation.byKey.get(key))
    this.forgetId(id)
  }

  forgetId(id: number): void {
    for (const generation of [this.#young, this.#old]) generation.remove(generation.byId.get(id))
  }

  clear(): void {
    this.#young = new Generation()
    this.#old = new Generation()
  }

  #add(kept: Kept<Value>): void {
    if (this.#young.weight + kept.weight > this.#maxWeight) {
      this.#old = this.#young
      this.#young = new Generation()
    }
    this.#young.add(kept)
  }
}
