import { hash } from 'node:crypto'

const storedForMs = 60_000
/** The maximum number of stored results. Each contains only the path of a page. */
const maxStored = 2_000

interface Stored<Result> {
  readonly result: Promise<Result>
  /** On the monotonic clock. Infinity while the work is running. */
  readonly until: number
}

/** The results of recently submitted forms in this process, because people press a button twice. */
export class Submissions<Result> {
  /** By the hash of session, path and `once`, oldest first. */
  readonly #stored = new Map<string, Stored<Result>>()

  get size(): number {
    return this.#stored.size
  }

  /** Does the work once for each session, path and `once`. `repeated` returns the result for later repeats, or null. */
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

  /** Drops expired results, and the oldest one if the store is full. Work that is still running stays. */
  #dropOldest(): void {
    const now = performance.now()
    for (const [key, { until }] of this.#stored) {
      if (until === Number.POSITIVE_INFINITY) continue
      if (until > now && this.#stored.size < maxStored) return
      this.#stored.delete(key)
    }
  }
}
