import { tooManySearches } from '../../errors.ts'

/** So many may wait; more are refused rather than kept waiting. */
const longestQueue = 256
/** Milliseconds; a search takes a few. */
const longestWaitMs = 500

interface Waiting {
  readonly enter: () => void
  readonly patience: NodeJS.Timeout
}

/** Lets so many pieces of work run at a time, and the others in the order of their arrival. */
export class Gate {
  readonly #width: number
  #inside = 0
  #waiting: Waiting[] = []

  constructor(width: number) {
    this.#width = width
  }

  /** What `work` returns. Throws `overloaded` when too many wait, or when its turn did not come in half a second. */
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
    if (this.#waiting.length >= longestQueue) throw tooManySearches()
    return new Promise((enter, refuse) => {
      const waiting = { enter, patience: setTimeout(() => this.#giveUp(waiting, refuse), longestWaitMs) }
      this.#waiting.push(waiting)
    })
  }

  #giveUp(waiting: Waiting, refuse: (reason: unknown) => void): void {
    this.#waiting = this.#waiting.filter((each) => each !== waiting)
    refuse(tooManySearches())
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
