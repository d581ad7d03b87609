import { Failure, overloaded } from '../errors.ts'
import { networkOf } from '../lib/ip-address.ts'
import { Semaphore } from '../lib/semaphore.ts'
import { windowMs } from '../limits/rate-counter.ts'
import { verifyPassword } from '../links/password.ts'

/** The wrong passwords that a network can send for a link in any minute. */
const wrongPerMinute = 10
/** The number of pairs of link and network with separate counts. Further pairs share one count. */
const maxSubjects = 100_000
/** No link has a longer password. Code points. */
const maxPasswordLength = 128

/** The passwords for one link that one network can have waiting, in addition to the one being checked. */
const maxWaiting = 31

/** Limits wrong passwords by link and network. Counts are not shared, because that would mean storing IP addresses. */
export class Passwords {
  readonly #wrong = new SlidingWindow(wrongPerMinute, maxSubjects)
  /** Checks the passwords of a subject one after the other, so that the limit is exact. */
  readonly #checking = new Semaphore({
    concurrency: Number.POSITIVE_INFINITY,
    concurrencyPerKey: 1,
    maxQueuePerKey: maxWaiting,
    rejection: () => overloaded('Too many passwords are being checked. Try again shortly.'),
  })

  /** Returns whether a password matches the hash `stored`, or `rate_limited`. Throws `overloaded`. */
  judge(link: number, address: string, password: string, stored: string): Promise<boolean | Failure> {
    const network = networkOf(address)
    const subject = `${link} ${network}`
    return this.#checking.run(async () => {
      const msUntilFree = this.#wrong.msUntilFree(subject)
      if (msUntilFree > 0) return tooMany(msUntilFree)
      const sent = password.trim()
      const isRight = isPossible(sent) && (await verifyPassword(sent, stored, `network ${network}`))
      if (!isRight) this.#wrong.add(subject)
      return isRight
    }, subject)
  }
}

function isPossible(password: string): boolean {
  return password !== '' && password.length <= 2 * maxPasswordLength && [...password].length <= maxPasswordLength
}

function tooMany(msUntilFree: number): Failure {
  return new Failure('rate_limited', 'Too many wrong passwords. Wait a minute, then try again.', {
    retryAfter: Math.ceil(msUntilFree / 1000),
  })
}

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
