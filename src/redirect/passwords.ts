import { Failure } from '../errors.ts'
import { networkOf } from '../http/client-network.ts'
import { Counts, type Standing, windowMs } from '../limits/counts.ts'
import { verifyPassword } from '../links/password.ts'

/** Wrong passwords that a client address may send for a link in a minute. */
const wrongPerMinute = 10
/** Pairs of link and address that are counted apart; those beyond share one count. */
const maxSubjects = 100_000
/** Code points of a password; no link has a longer one. */
const maxPasswordLength = 128

/**
 * Judges the passwords that visitors send. Wrong ones are counted by link and address, in this process alone: to share the
 * counts, addresses would have to be stored.
 */
export class Passwords {
  readonly #wrong = new Counts({ limit: wrongPerMinute, toldShare: 1, maxSubjects }, () => undefined)
  #sweepAt = 0

  /**
   * Whether the password is that of the link, whose stored one is `stored`. Returns `rate_limited` after too many wrong ones;
   * throws `overloaded`.
   */
  async judge(link: number, address: string, password: string, stored: string): Promise<boolean | Failure> {
    this.#sweep()
    const subject = `${link} ${networkOf(address)}`
    // Counted before it is known to be wrong: many may be judged at once.
    const standing = this.#wrong.add(subject, 1)
    if (standing.used > wrongPerMinute) return tooMany(standing)
    let isRight = false
    try {
      isRight = isPossible(password) && (await verifyPassword(password, stored))
    } catch (error) {
      this.#wrong.add(subject, -1)
      throw error
    }
    if (isRight) this.#wrong.add(subject, -1)
    return isRight
  }

  /** Forgets windows that are over, and the addresses with them. */
  #sweep(): void {
    const now = performance.now()
    if (now < this.#sweepAt) return
    this.#wrong.sweep()
    this.#sweepAt = now + windowMs
  }
}

function isPossible(password: string): boolean {
  return password !== '' && password.length <= 2 * maxPasswordLength && [...password].length <= maxPasswordLength
}

function tooMany({ msLeft }: Standing): Failure {
  return new Failure('rate_limited', 'Too many wrong passwords were sent. Wait a minute, then try again.', {
    retryAfter: Math.ceil(msLeft / 1000),
  })
}
