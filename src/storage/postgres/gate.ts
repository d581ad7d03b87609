import type { Failure } from '../../errors.ts'

/** Beyond this queue, work is refused rather than kept waiting. */
const maxQueue = 256

/** Limits how many pieces of work run at a time. The others wait, and run in the order of their arrival. */
export class Gate {
  readonly #maxWaitMs: number
  readonly #refusal: () => Failure
  #free: number
  readonly #waiting = new Set<() => void>()

  /** `refusal` is what work hears that finds the queue full, or waits for longer than `maxWaitMs`. */
  constructor(width: number, maxWaitMs: number, refusal: () => Failure) {
    this.#free = width
    this.#maxWaitMs = maxWaitMs
    this.#refusal = refusal
  }

  /** What `work` returns. Throws the refusal. */
  async through<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1
    else await this.#turn()
    try {
      return await work()
    } finally {
      const [next] = this.#waiting
      if (next === undefined) this.#free += 1
      else next()
    }
  }

  #turn(): Promise<void> {
    if (this.#waiting.size >= maxQueue) throw this.#refusal()
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        this.#waiting.delete(enter)
        reject(this.#refusal())
      }
      const enter = () => {
        this.#waiting.delete(enter)
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(giveUp, this.#maxWaitMs)
      this.#waiting.add(enter)
    })
  }
}
