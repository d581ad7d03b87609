export const windowMs = 60_000

/** Limits the events of each subject in any 60 seconds. Stores the times of its latest events. */
export class SlidingWindow {
  readonly #limit: number
  readonly #maxSubjects: number
  /** Unix milliseconds, the oldest first: at most `limit` for each subject. */
  readonly #times = new Map<string, number[]>()

  /** Past `maxSubjects`, new subjects share one limit. */
  constructor({ limit, maxSubjects }: { readonly limit: number; readonly maxSubjects: number }) {
    this.#limit = limit
    this.#maxSubjects = maxSubjects
  }

  /** Returns the milliseconds until the subject may have another event; 0 if it may have one now. */
  msUntilFree(subject: string): number {
    const now = Date.now()
    const times = recent(this.#times.get(this.#keyOf(subject)) ?? [], now)
    return times.length < this.#limit ? 0 : (times.at(-this.#limit) as number) + windowMs - now
  }

  /** Records an event of the subject. */
  add(subject: string): void {
    const now = Date.now()
    const key = this.#keyOf(subject)
    this.#times.set(key, [...recent(this.#times.get(key) ?? [], now), now].slice(-this.#limit))
  }

  /** Deletes subjects without an event in the last minute. */
  sweep(): void {
    const now = Date.now()
    for (const [subject, times] of this.#times) if (recent(times, now).length === 0) this.#times.delete(subject)
  }

  #keyOf(subject: string): string {
    return this.#times.has(subject) || this.#times.size < this.#maxSubjects ? subject : shared
  }
}

const shared = 'shared'

/** The times of the last minute. After the clock was set back, times ahead of it are dropped. */
function recent(times: readonly number[], now: number): number[] {
  return times.filter((time) => time <= now && now - time < windowMs)
}
