import { BoundedMap } from '../bounded-map.ts'

/** What a form came to is kept for so long, in milliseconds: people press a button twice within seconds. */
const keptForMs = 60_000
const maxKept = 10_000

interface Kept<T> {
  readonly result: Promise<T>
  /** On the monotonic clock. */
  readonly until: number
}

/** What forms came to that were sent a moment ago, in this process. */
export class Submissions<T> {
  readonly #kept = new BoundedMap<string, Kept<T>>(maxKept)

  /**
   * Does the work, or returns what the same form came to before: sent by the same session, to the same path, with the same
   * `once` among its fields. Rejections are not kept, nor are results that are not `isFinal`, so that the form may be mended.
   */
  async take(
    { session, path, once }: { readonly session: number; readonly path: string; readonly once: unknown },
    work: () => Promise<T>,
    isFinal: (result: T) => boolean,
  ): Promise<T> {
    if (typeof once !== 'string' || once.length > 64) return work()
    const name = `${session} ${path} ${once}`
    const before = this.#kept.get(name)
    if (before !== undefined && before.until > performance.now()) return before.result
    const result = work()
    this.#kept.set(name, { result, until: performance.now() + keptForMs })
    try {
      const done = await result
      if (!isFinal(done)) this.#kept.delete(name)
      return done
    } catch (error) {
      this.#kept.delete(name)
      throw error
    }
  }
}
