import { windowMs } from './rate-counter.ts'

/** Limits the events of each subject in any 60 seconds. Stores the times of its latest events. */
export class SlidingWindow {
  readonly #limit: number
  readonly #maxSubjects: number
  /** Monotonic milliseconds, oldest first: at most `limit` for each subject. */
  #times = new Map<string, number[]>()
  /** Subjects without an event since the maps were rotated. Each rotation drops them, so no call visits all subjects. */
  #older = new Map<string, number[]>()
  #rotatedAt = 0

  /** When there are `maxSubjects`, new subjects share one limit until older ones are dropped. */
  constructor(limit: number, maxSubjects: number) {
    this.#limit = limit
    this.#maxSubjects = maxSubjects
  }

  /** Returns the milliseconds until the subject may have another event; 0 if it may have one now. */
  msUntilFree(subject: string): number {
    const now = this.#rotate()
    const times = this.#recent(this.#keyOf(subject), now)
    return times.length < this.#limit ? 0 : (times.at(-this.#limit) as number) + windowMs - now
  }

  add(subject: string): void {
    const now = this.#rotate()
    const key = this.#keyOf(subject)
    this.#times.set(key, [...this.#recent(key, now), now].slice(-this.#limit))
    this.#older.delete(key)
  }

  /** Drops subjects without an event in the last minute, once a minute. Returns the monotonic time. */
  #rotate(): number {
    const now = performance.now()
    const elapsed = now - this.#rotatedAt
    if (elapsed >= windowMs) {
      this.#older = elapsed < 2 * windowMs ? this.#times : new Map()
      this.#times = new Map()
      this.#rotatedAt = now
    }
    return now
  }

  #recent(key: string, now: number): number[] {
    const times = this.#times.get(key) ?? this.#older.get(key) ?? []
    return times.filter((time) => now - time < windowMs)
  }

  #keyOf(subject: string): string {
    const isKnown = this.#times.has(subject) || this.#older.has(subject)
    return isKnown || this.#times.size + this.#older.size < this.#maxSubjects ? subject : shared
  }
}

const shared = 'shared'
