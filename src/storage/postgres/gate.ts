import type { Failure } from '../../errors.ts'

/** So many may wait; more are refused rather than kept waiting. */
const longestQueue = 256
interface Waiting {
  readonly enter: () => void
  readonly patience: NodeJS.Timeout
}

/** Lets so many pieces of work run at a time, and the others in the order of their arrival. */
export class Gate {
  readonly #width: number
  readonly #longestWaitMs: number
  readonly #refusal: () => Failure
  #inside = 0
  #waiting: Waiting[] = []

  /** `refusal` is what those hear that are too many, or wait for longer than `longestWaitMs`. */
  constructor(width: number, longestWaitMs: number, refusal: () => Failure) {
    this.#width = width
    this.#longestWaitMs = longestWaitMs
    this.#refusal = refusal
  }

  /** What `work` returns. Throws the refusal. */
  async through<T>(work: () => Promise<T>): Promise<T> {
    if (this.#inside < this.#width) this.#inside += 1
    else await this.#turn()
    try {
      return await work()
    } finally {
      this.#leave()
    }
  }

  #turn(): Promise<void> {
    if (this.#waiting.length >= longestQueue) throw this.#refusal()
    return new Promise((enter, refuse) => {
      const waiting = { enter, patience: setTimeout(() => this.#giveUp(waiting, refuse), this.#longestWaitMs) }
      this.#waiting.push(waiting)
    })
  }

  #giveUp(waiting: Waiting, refuse: (reason: unknown) => void): void {
    this.#waiting = this.#waiting.filter((each) => each !== waiting)
    refuse(this.#refusal())
  }

  /** Whoever is next takes the place. */
  #leave(): void {
    const next = this.#waiting.shift()
    if (next === undefined) {
      this.#inside -= 1
    } else {
      clearTimeout(next.patience)
      next.enter()
    }
  }
}
