import { Failure } from '../errors.ts'
import { networkOf } from '../lib/ip-address.ts'
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

/** Limits wrong passwords by link and network. Counts are not shared, because that would mean storing IP addresses. */
export class Passwords {
  readonly #maxSubjects: number
  /** The times of the wrong passwords of the last minute, by subject. Monotonic milliseconds, oldest first. */
  readonly #wrong = new Map<string, number[]>()
  readonly #semaphores: PasswordSemaphores

  /** `maxSubjects` is the number of pairs of link and network with separate counts. Further pairs share one count. */
  constructor(semaphores: PasswordSemaphores, maxSubjects = 100_000) {
    this.#semaphores = semaphores
    this.#maxSubjects = maxSubjects
  }

  /** Returns whether a password matches the hash `stored`, or `rate_limited`. Throws `overloaded`. */
  judge(link: number, address: string, password: string, stored: string): Promise<boolean | Failure> {
    const network = networkOf(address)
    const subject = `${link} ${network}`
    const { visitorPasswords, hashes } = this.#semaphores
    const verify = (sent: string) => hashes.run(() => verifyPassword(sent, stored), `network ${network}`)
    return visitorPasswords.run(async () => {
      const key = this.#wrong.has(subject) || this.#wrong.size < this.#maxSubjects ? subject : 'shared'
      const oldest = this.#recent(key).at(-wrongPerMinute)
      if (oldest !== undefined) return tooMany(oldest + minuteMs - performance.now())
      const sent = trimText(password)
      // No link has an empty password.
      const isPossible = sent !== '' && !(parsePassword(sent) instanceof Refusal)
      const isRight = isPossible && (await verify(sent))
      if (!isRight) this.#addWrong(key)
      return isRight
    }, subject)
  }

  /** Returns the times of the wrong passwords of the last minute. */
  #recent(key: string): number[] {
    const since = performance.now() - minuteMs
    return (this.#wrong.get(key) ?? []).filter((time) => time > since)
  }

  #addWrong(key: string): void {
    // One timer for each subject, because there may be a hundred thousand.
    if (!this.#wrong.has(key)) this.#forgetLater(key)
    this.#wrong.set(key, [...this.#recent(key), performance.now()])
  }

  #forgetLater(key: string): void {
    const forget = () => (this.#recent(key).length === 0 ? this.#wrong.delete(key) : this.#forgetLater(key))
    setTimeout(forget, minuteMs).unref()
  }
}

function tooMany(msUntilFree: number): Failure {
  return new Failure('rate_limited', 'Too many wrong passwords. Wait a minute, then try again.', {
    retryAfter: Math.max(1, Math.ceil(msUntilFree / 1000)),
  })
}
