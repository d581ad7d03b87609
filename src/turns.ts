interface Place {
  running: number
  readonly waiting: (() => void)[]
}

interface Limits {
  /** Pieces of work that run at once. */
  readonly atOnce: number
  /** Those of one place that run at once; as many as `atOnce` unless given. */
  readonly atOncePerPlace?: number
  /** Those of one place that wait. */
  readonly perPlace: number
  /** Those of all places that wait. */
  readonly inAll: number
}

/**
 * Bounds how much of one kind of work goes on at once, and how much waits. Those who wait take turns: a crowd from one place
 * delays the others by one piece of work at most.
 */
export class Turns {
  readonly #max: Required<Limits>
  readonly #refusal: () => Error
  /** The places with work, in the order of the turns. */
  readonly #places = new Map<string, Place>()
  #waits = 0
  #running = 0

  /** `refusal` makes the error for work that finds no room to wait: in all, or among that of its place. */
  constructor(max: Limits, refusal: () => Error) {
    this.#max = { atOncePerPlace: max.atOnce, ...max }
    this.#refusal = refusal
  }

  /** Does the work when its turn comes. Throws at once if too much waits already. */
  async take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const place = this.#places.get(name) ?? { running: 0, waiting: [] }
    this.#places.set(name, place)
    if (this.#running < this.#max.atOnce && place.running < this.#max.atOncePerPlace) this.#begin(place)
    else await this.#wait(place)
    try {
      return await work()
    } finally {
      this.#running -= 1
      place.running -= 1
      // The next one takes over now, so that newcomers cannot overtake it.
      this.#beginNext()
      if (place.running === 0 && place.waiting.length === 0) this.#places.delete(name)
    }
  }

  #begin(place: Place): void {
    this.#running += 1
    place.running += 1
  }

  #wait({ waiting }: Place): Promise<void> {
    if (waiting.length >= this.#max.perPlace || this.#waits >= this.#max.inAll) throw this.#refusal()
    this.#waits += 1
    return new Promise((resolve) => waiting.push(resolve))
  }

  #beginNext(): void {
    for (const [name, place] of this.#places) {
      const next = place.running < this.#max.atOncePerPlace ? place.waiting.shift() : undefined
      if (next === undefined) continue
      this.#waits -= 1
      this.#begin(place)
      // Behind the other places.
      this.#places.delete(name)
      this.#places.set(name, place)
      next()
      return
    }
  }
}
