/** Bounds how much of one kind of work goes on at once, and how much waits for its turn. */
export class Turns {
  readonly #atOnce: number
  readonly #maxWaiting: number
  readonly #refusal: () => Error
  readonly #waiting: (() => void)[] = []
  #running = 0

  /** `refusal` makes the error for work that finds no place to wait. */
  constructor({ atOnce, waiting }: { atOnce: number; waiting: number }, refusal: () => Error) {
    this.#atOnce = atOnce
    this.#maxWaiting = waiting
    this.#refusal = refusal
  }

  /** Does the work when its turn comes; throws at once if too much waits already. */
  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#atOnce) this.#running += 1
    else await this.#wait()
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      // The next one takes over this turn, so that newcomers cannot overtake it.
      if (next === undefined) this.#running -= 1
      else next()
    }
  }

  #wait(): Promise<void> {
    if (this.#waiting.length >= this.#maxWaiting) throw this.#refusal()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }
}
