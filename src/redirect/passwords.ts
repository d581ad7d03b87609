import { Failure } from '../errors.ts'
import { toNetwork } from '../lib/ip-address.ts'
import type { Semaphore } from '../lib/semaphore.ts'
import { trimText } from '../lib/text.ts'
import { parsePassword } from '../links/link.ts'
import { verifyPassword } from '../links/password.ts'
import { Refusal } from '../violations.ts'

/** The wrong passwords that a network can send for a link in any minute. */
const [wrongPerMinute, minuteMs] = [10, 60_000]

export interface PasswordSemaphores {
  /** Runs the checks of a link and a network one after the other, so that the limit is exact. */
  readonly visitorPasswords: Semaphore
  readonly hashes: Semaphore
}

/** Limits wrong passwords by link and network. Processes share no counts, because that would mean storing IP addresses. */
export class Passwords {
  readonly #maxSubjects: number
  /** The times of the wrong passwords of the last minute, by subject. Monotonic milliseconds, oldest first. */
  readonly #wrong = new Map<string, number[]>()
  readonly #semaphores: PasswordSemaphores

  /**
   * `maxSubjects` bounds the pairs of link and network with a count. Only `hashes` limits the guesses of further pairs, because
   * dropping an older count would let an attacker with many networks start again.
   */
  constructor(semaphores: PasswordSemaphores, maxSubjects = 100_000) {
    this.#semaphores = semaphores
    this.#maxSubjects = maxSubjects
  }

  /** Returns whether a password matches the hash `stored`, or `rate_limited`. Throws `overloaded`. */
  async judge(link: number, address: string, password: string, stored: string): Promise<boolean | Failure> {
    const sent = trimText(password)
    // No link has such a password. Counting it would let anyone fill the memory of counts without a hash.
    if (sent === '' || parsePassword(sent) instanceof Refusal) return false
    const network = toNetwork(address)
    const subject = `${link} ${network}`
    const { visitorPasswords, hashes } = this.#semaphores
    return visitorPasswords.run(async () => {
      const oldest = this.#recent(subject).at(-wrongPerMinute)
      if (oldest !== undefined) return tooMany(oldest + minuteMs - performance.now())
      const isRight = await hashes.run(() => verifyPassword(sent, stored), `network ${network}`)
      if (!isRight) this.#addWrong(subject)
      return isRight
    }, subject)
  }

  /** Returns the times of the wrong passwords of the last minute. */
  #recent(subject: string): number[] {
    const since = performance.now() - minuteMs
    return (this.#wrong.get(subject) ?? []).filter((time) => time > since)
  }

  #addWrong(subject: string): void {
    if (!this.#wrong.has(subject)) {
      // A count that others share would lock them out.
      if (this.#wrong.size >= this.#maxSubjects) return
      // One timer for each subject, because there may be a hundred thousand.
      this.#forgetLater(subject)
    }
    this.#wrong.set(subject, [...this.#recent(subject), performance.now()])
  }

  #forgetLater(subject: string): void {
    const forget = () => (this.#recent(subject).length === 0 ? this.#wrong.delete(subject) : this.#forgetLater(subject))
    setTimeout(forget, minuteMs).unref()
  }
}

function tooMany(msUntilFree: number): Failure {
  return new Failure('rate_limited', 'Too many wrong passwords. Wait a minute, then try again.', {
    retryAfter: Math.max(1, Math.ceil(msUntilFree / 1000)),
  })
}
