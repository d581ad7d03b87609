/**
 * Bounds how much of one kind of work goes on at once, and how much waits. Those who wait take turns: a crowd from one place
 * delays the others by one piece of work at most.
 */
export class Turns {
  readonly #atOnce: number
  readonly #perPlace: number
  readonly #inAll: number
  readonly #refusal: () => Error
  /** What waits, by the place that it comes from, in the order of the turns. */
  readonly #waiting = new Map<string, (() => void)[]>()
  #waits = 0
  #running = 0

  /** `refusal` makes the error for work that finds no room to wait: in all, or among that of its place. */
  constructor(max: { atOnce: number; perPlace: number; inAll: number }, refusal: () => Error) {
    this.#atOnce = max.atOnce
    this.#perPlace = max.perPlace
    this.#inAll = max.inAll
    this.#refusal = refusal
  }

  /** Does the work when its turn comes. Throws at once if too much waits already. */
  async take<T>(place: string, work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#atOnce) this.#running += 1
    else await this.#wait(place)
    try {
      return await work()
    } finally {
      const next = this.#next()
      // The next one takes over, so that newcomers cannot overtake it.
      if (next === undefined) this.#running -= 1
      else next()
    }
  }

  #wait(place: string): Promise<void> {
    const ofPlace = this.#waiting.get(place) ?? []
    if (ofPlace.length >= this.#perPlace || this.#waits >= this.#inAll) throw this.#refusal()
    this.#waiting.set(place, ofPlace)
    this.#waits += 1
    return new Promise((resolve) => ofPlace.push(resolve))
  }

  #next(): (() => void) | undefined {
    const [first] = this.#waiting
    if (first === undefined) return undefined
    const [place, ofPlace] = first
    const next = ofPlace.shift()
    this.#waiting.delete(place)
    // Behind the other places.
    if (ofPlace.length > 0) this.#waiting.set(place, ofPlace)
    this.#waits -= 1
    return next
  }
}
