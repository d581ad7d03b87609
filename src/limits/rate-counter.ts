export interface RateLimitUsage {
  /** Requests in this window, in all processes that have published their counts. */
  readonly used: number
  /** Milliseconds until the window ends; more than 0. */
  readonly msLeft: number
}

/** The requests of a subject in the window that ends at `endsAt`, in Unix milliseconds. */
export interface WindowCount {
  readonly subject: string
  readonly endsAt: number
  readonly requests: number
}

interface Counter {
  readonly endsAt: number
  local: number
  remote: number
  published: number
}

interface RateCounterOptions {
  readonly limit: number
  /** The share of the limit by which a count must have grown to be published. */
  readonly publishShare: number
  /** When there are so many subjects, new ones share a count. */
  readonly maxSubjects: number
}

export const windowMs = 60_000

/** Counts requests in windows of a minute, which are the same in every process whose clock agrees. */
export class RateCounter {
  readonly #limit: number
  readonly #publishStep: number
  readonly #maxSubjects: number
  readonly #counters = new Map<string, Counter>()
  readonly #onUnpublished: () => void

  /** `onUnpublished` is called after a count has grown enough to be published. */
  constructor({ limit, publishShare, maxSubjects }: RateCounterOptions, onUnpublished: () => void) {
    this.#limit = limit
    this.#publishStep = Math.max(1, Math.floor(limit * publishShare))
    this.#maxSubjects = maxSubjects
    this.#onUnpublished = onUnpublished
  }

  add(subject: string, requests: number): RateLimitUsage {
    const now = Date.now()
    const counter = this.#openCounter(subject, now)
    counter.local += requests
    if (this.#isUnpublished(counter)) this.#onUnpublished()
    return { used: counter.local + counter.remote, msLeft: counter.endsAt - now }
  }

  /** Returns up to `max` counts that other processes need. Marks them as published, so that each is published once. */
  takeUnpublished(max: number): WindowCount[] {
    const counts: WindowCount[] = []
    for (const [subject, counter] of this.#counters) {
      if (counts.length === max) break
      if (!this.#isUnpublished(counter)) continue
      counter.published = counter.local
      counts.push({ subject, endsAt: counter.endsAt, requests: counter.local })
    }
    return counts
  }

  /** Records that these counts could not be published. */
  markUnpublished(counts: readonly WindowCount[]): void {
    for (const { subject } of counts) {
      const counter = this.#counters.get(subject)
      if (counter !== undefined) counter.published = 0
    }
  }

  /** Sets the sum of the counts of all other processes. */
  setRemote({ subject, endsAt, requests }: WindowCount): void {
    const counter = this.#openCounter(subject, Date.now())
    if (counter.endsAt === endsAt) counter.remote = requests
  }

  sweep(): void {
    const now = Date.now()
    for (const [subject, { endsAt }] of this.#counters) if (isOver(endsAt, now)) this.#counters.delete(subject)
  }

  /** A count above the limit need not be published again. */
  #isUnpublished({ local, published }: Counter): boolean {
    return local - published >= this.#publishStep && published <= this.#limit
  }

  #openCounter(subject: string, now: number): Counter {
    let key = subject
    let counter = this.#counters.get(key)
    if (counter === undefined && this.#counters.size >= this.#maxSubjects) {
      key = overflow
      counter = this.#counters.get(key)
    }
    if (counter !== undefined && !isOver(counter.endsAt, now)) return counter
    // The windows of different subjects do not end at the same time.
    const endsAt = now + windowMs - ((now + hashOffset(key)) % windowMs)
    const started = { endsAt, local: 0, remote: 0, published: 0 }
    this.#counters.set(key, started)
    return started
  }
}

/** The subject that counts the requests of all subjects beyond `maxSubjects`. */
const overflow = 'crowd'

/** Also true if the clock was set back. */
function isOver(endsAt: number, now: number): boolean {
  return endsAt <= now || endsAt - now > windowMs
}

/** Deterministic, so that all processes agree. */
function hashOffset(subject: string): number {
  let hash = 0
  for (const character of subject) hash = (Math.imul(hash, 31) + character.charCodeAt(0)) | 0
  return (Math.imul(hash, 48_271) >>> 0) % windowMs
}
