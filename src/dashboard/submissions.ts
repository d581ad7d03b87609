import { hash } from 'node:crypto'
import { LruCache } from '../lib/lru-cache.ts'

const storedForMs = 60_000
/** The maximum number of stored results. Each contains only the path of a page. */
const maxStored = 2_000

/** The results of recently submitted forms in this process, because people press a button twice. */
export class Submissions<Result> {
  /** By the hash of session, path and `once`. */
  readonly #running = new Map<string, Promise<Result>>()
  /** `until` is on the monotonic clock. */
  readonly #done = new LruCache<string, { readonly result: Result; readonly until: number }>(maxStored)

  /** Does the work once for each session, path and `once`. `repeated` returns the result for later repeats, or null. */
  async take(
    { session, path, once }: { readonly session: number; readonly path: string; readonly once: unknown },
    work: () => Promise<Result>,
    repeated: (result: Result) => Result | null,
  ): Promise<Result> {
    if (typeof once !== 'string' || once.length > 64) return work()
    const key = hash('sha256', `${session} ${path} ${once}`, 'base64')
    const done = this.#done.get(key)
    if (done !== undefined && performance.now() < done.until) return done.result
    const earlier = this.#running.get(key)
    if (earlier !== undefined) return earlier
    const running = work()
    this.#running.set(key, running)
    try {
      const result = await running
      const later = repeated(result)
      if (later !== null) this.#done.set(key, { result: later, until: performance.now() + storedForMs })
      return result
    } finally {
      this.#running.delete(key)
    }
  }
}
