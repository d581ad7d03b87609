import { Failure, overloaded } from '../errors.ts'
import { networkOf } from '../http/client-address.ts'
import { SlidingWindow } from '../limits/sliding-window.ts'
import { verifyPassword } from '../links/password.ts'

/** Wrong passwords that a client address may send for a link in any minute. */
const wrongPerMinute = 10
/** Pairs of link and address that are counted apart; those beyond share one count. */
const maxSubjects = 100_000
/** Code points of a password; no link has a longer one. */
const maxPasswordLength = 128

/** Passwords that one address may have sent for one link without an answer yet. */
const maxPending = 32

/** What is being judged for one link and address. */
interface Pending {
  last: Promise<unknown>
  count: number
}

/**
 * Judges the passwords that visitors send. Wrong ones are counted by link and address, in this process alone: to share the
 * counts, addresses would have to be stored. Those of one link and address are judged one after the other, so that no more
 * than ten wrong ones are tried, and right ones are never counted.
 */
export class Passwords {
  readonly #wrong = new SlidingWindow({ limit: wrongPerMinute, maxSubjects })
  readonly #pending = new Map<string, Pending>()

  /**
   * Whether the password is that of the link, whose stored one is `stored`. Returns `rate_limited` after too many wrong ones;
   * throws `overloaded`.
   */
  async judge(link: number, address: string, password: string, stored: string): Promise<boolean | Failure> {
    const text = password.trim()
    const network = networkOf(address)
    const subject = `${link} ${network}`
    const pending = this.#pending.get(subject) ?? { last: Promise.resolve(), count: 0 }
    if (pending.count >= maxPending) throw overloaded('Too many passwords are being checked.')
    this.#pending.set(subject, pending)
    pending.count += 1
    const verdict = pending.last.then(() => this.#judgeOne(subject, network, text, stored))
    pending.last = verdict.catch(() => undefined)
    try {
      return await verdict
    } finally {
      pending.count -= 1
      if (pending.count === 0) this.#pending.delete(subject)
    }
  }

  async #judgeOne(subject: string, network: string, password: string, stored: string): Promise<boolean | Failure> {
    const msUntilFree = this.#wrong.msUntilFree(subject)
    if (msUntilFree > 0) return tooMany(msUntilFree)
    const isRight = isPossible(password) && (await verifyPassword(password, stored, `network ${network}`))
    if (!isRight) this.#wrong.add(subject)
    return isRight
  }
}

function isPossible(password: string): boolean {
  return password !== '' && password.length <= 2 * maxPasswordLength && [...password].length <= maxPasswordLength
}

function tooMany(msUntilFree: number): Failure {
  return new Failure('rate_limited', 'Too many wrong passwords were sent. Wait a minute, then try again.', {
    retryAfter: Math.ceil(msUntilFree / 1000),
  })
}
