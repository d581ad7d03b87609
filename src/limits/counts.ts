/** Where a subject stands in its window. */
export interface Standing {
  /** Requests so far, at every node that has told of its own. */
  readonly used: number
  /** Milliseconds until the window ends; more than 0. */
  readonly msLeft: number
}

/** What one node counted for a subject in a window that ends at `endsAt`, in Unix milliseconds. */
export interface Tally {
  readonly subject: string
  readonly endsAt: number
  readonly requests: number
}

interface Count {
  /** By how much the subject's windows are ahead of the clock's minutes, so that not all end at once. */
  readonly offset: number
  endsAt: number
  here: number
  elsewhere: number
  told: number
}

/** The minute in which requests are counted. Milliseconds. */
export const windowMs = 60_000

/**
 * Counts requests in fixed windows of a minute. A subject's windows begin at the same moments on every node, as far as
 * their clocks agree; a clock that jumps begins a new window.
 */
export class Counts {
  readonly #limit: number
  readonly #maxSubjects: number
  readonly #counts = new Map<string, Count>()
  readonly #worthTelling: number
  readonly #onWorthTelling: () => void

  /**
   * `onWorthTelling` is called when a subject's count has grown by `toldShare` of the limit since `untold` was asked.
   * Past `maxSubjects`, those that are new share one count.
   */
  constructor(
    { limit, toldShare, maxSubjects }: { limit: number; toldShare: number; maxSubjects: number },
    onWorthTelling: () => void,
  ) {
    this.#limit = limit
    this.#maxSubjects = maxSubjects
    this.#worthTelling = Math.max(1, Math.floor(limit * toldShare))
    this.#onWorthTelling = onWorthTelling
  }

  /** Adds requests to the subject's count of this window. */
  add(subject: string, requests: number): Standing {
    const now = Date.now()
    const count = this.#countOf(subject, now)
    count.here += requests
    if (this.#isWorthTelling(count)) this.#onWorthTelling()
    return { used: count.here + count.elsewhere, msLeft: count.endsAt - now }
  }

  /** What other nodes do not know yet and should, `most` subjects at a time; from now on they count as told. */
  untold(most: number): Tally[] {
    const tallies: Tally[] = []
    for (const [subject, count] of this.#counts) {
      if (tallies.length === most) break
      if (!this.#isWorthTelling(count)) continue
      count.told = count.here
      tallies.push({ subject, endsAt: count.endsAt, requests: count.here })
    }
    return tallies
  }

  /** Takes back that others were told. */
  notTold(tallies: readonly Tally[]): void {
    for (const { subject } of tallies) {
      const count = this.#counts.get(subject)
      if (count !== undefined) count.told = 0
    }
  }

  /** What the other nodes have counted together. */
  learn({ subject, endsAt, requests }: Tally): void {
    const count = this.#countOf(subject, Date.now())
    if (count.endsAt === endsAt) count.elsewhere = requests
  }

  /** Forgets windows that are over. */
  sweep(): void {
    const now = Date.now()
    for (const [subject, { endsAt }] of this.#counts) if (isOver(endsAt, now)) this.#counts.delete(subject)
  }

  /** Once everybody knows that the limit is reached, no more need be said. */
  #isWorthTelling({ here, told }: Count): boolean {
    return here - told >= this.#worthTelling && told <= this.#limit
  }

  #countOf(subject: string, now: number): Count {
    const count = this.#counts.get(subject) ?? this.#newCount(subject)
    if (isOver(count.endsAt, now)) {
      count.endsAt = now + windowMs - ((now + count.offset) % windowMs)
      count.here = 0
      count.elsewhere = 0
      count.told = 0
    }
    return count
  }

  #newCount(subject: string): Count {
    if (this.#counts.size >= this.#maxSubjects && subject !== crowd) {
      return this.#counts.get(crowd) ?? this.#newCount(crowd)
    }
    const count = { offset: offsetOf(subject), endsAt: 0, here: 0, elsewhere: 0, told: 0 }
    this.#counts.set(subject, count)
    return count
  }
}

const crowd = 'crowd'

/** Also when the clock was set back. */
function isOver(endsAt: number, now: number): boolean {
  return endsAt <= now || endsAt - now > windowMs
}

/** The same on every node. */
function offsetOf(subject: string): number {
  let hash = 0
  for (const character of subject) hash = (Math.imul(hash, 31) + character.charCodeAt(0)) | 0
  return (Math.imul(hash, 48_271) >>> 0) % windowMs
}
