interface Place {
  running: number
  readonly waiting: (() => void)[]
}

interface Limits {
  /** The number of tasks that run at the same time. */
  readonly atOnce: number
  /** The same for each place; `atOnce` unless given. */
  readonly atOncePerPlace?: number
  /** The number of tasks of one place that wait. */
  readonly perPlace: number
  /** The number of tasks of all places that wait. */
  readonly inAll: number
}

/**
 * Bounds how many tasks of one kind run at the same time, and how many wait. Places take turns: a crowd from one place
 * delays each task of another place by one task at most.
 */
export class Turns {
  readonly #max: Required<Limits>
  readonly #refusal: () => Error
  /** The places with tasks, in the order of their turns. */
  readonly #places = new Map<string, Place>()
  #waits = 0
  #running = 0

  /** `refusal` creates the error for a task that has no room to wait. */
  constructor(max: Limits, refusal: () => Error) {
    this.#max = { atOncePerPlace: max.atOnce, ...max }
    this.#refusal = refusal
  }

  /** Runs the task of the place `name` when its turn arrives. Rejects immediately if too many tasks wait already. */
  async take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const place = this.#places.get(name) ?? { running: 0, waiting: [] }
    if (this.#running < this.#max.atOnce && place.running < this.#max.atOncePerPlace) this.#begin(name, place)
    else await this.#wait(name, place)
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

  #begin(name: string, place: Place): void {
    this.#places.set(name, place)
    this.#running += 1
    place.running += 1
  }

  #wait(name: string, place: Place): Promise<void> {
    const { waiting } = place
    if (waiting.length >= this.#max.perPlace || this.#waits >= this.#max.inAll) throw this.#refusal()
    this.#places.set(name, place)
    this.#waits += 1
    return new Promise((resolve) => waiting.push(resolve))
  }

  #beginNext(): void {
    for (const [name, place] of this.#places) {
      const next = place.running < this.#max.atOncePerPlace ? place.waiting.shift() : undefined
      if (next === undefined) continue
      this.#waits -= 1
      // Behind the other places.
      this.#places.delete(name)
      this.#begin(name, place)
      next()
      return
    }
  }
}
