import { hash } from 'node:crypto'

/** The result of a form is stored this long, in milliseconds: people press a button twice within seconds. */
const storedForMs = 60_000
/** The number of stored results. Each is at most the path of a page. */
const maxStored = 2_000

interface Stored<Result> {
  readonly result: Promise<Result>
  /** On the monotonic clock. Infinity while the work is under way. */
  readonly until: number
}

/** Stores the results of the last minute's forms, in this process. */
export class Submissions<Result> {
  /** By the hash of session, path and `once`. The oldest result is the first. */
  readonly #stored = new Map<string, Stored<Result>>()

  /** The number of stored results. */
  get size(): number {
    return this.#stored.size
  }

  /**
   * Does the work, or returns the stored result of the same form: sent by the same session, to the same path, with the same
   * `once` field. While the work is under way, the same form waits for its result. `repeated` returns the result for later
   * repeats; with null, as after an error, a repeat does the work again.
   */
  async take(
    { session, path, once }: { readonly session: number; readonly path: string; readonly once: unknown },
    work: () => Promise<Result>,
    repeated: (result: Result) => Result | null,
  ): Promise<Result> {
    if (typeof once !== 'string' || once.length > 64) return work()
    this.#dropOldest()
    const key = hash('sha256', `${session} ${path} ${once}`, 'base64')
    const earlier = this.#stored.get(key)
    if (earlier !== undefined) return earlier.result
    const running = work()
    this.#stored.set(key, { result: running, until: Number.POSITIVE_INFINITY })
    try {
      const result = await running
      const later = repeated(result)
      this.#stored.delete(key)
      if (later !== null) {
        this.#stored.set(key, { result: Promise.resolve(later), until: performance.now() + storedForMs })
      }
      return result
    } catch (error) {
      this.#stored.delete(key)
      throw error
    }
  }

  /** Drops expired results, and makes room for one. Work under way stays, or a repeat would do it a second time. */
  #dropOldest(): void {
    const now = performance.now()
    for (const [key, { until }] of this.#stored) {
      if (until === Number.POSITIVE_INFINITY) continue
      if (until > now && this.#stored.size < maxStored) return
      this.#stored.delete(key)
    }
  }
}
