import { Failure, overloaded } from '../errors.ts'
import { networkOf } from '../lib/ip-address.ts'
import { Semaphore } from '../lib/semaphore.ts'
import { SlidingWindow } from '../limits/sliding-window.ts'
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
