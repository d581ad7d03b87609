import type { ChangePosition, Changes, Storage } from '../storage/port.ts'

/** Half of the second within which a change must be seen everywhere. Milliseconds. */
const everyMs = 500
/** After a longer pause of this process, changes may have been forgotten before they were read. Milliseconds. */
const maxPauseMs = 30_000
/** Changes are forgotten when they have been there for so long, by the time between two prunings. Milliseconds. */
const pruneEveryMs = 60_000

export interface FeedOptions {
  /** Milliseconds on a clock that is never set. */
  readonly now: () => number
  /** Brings memory up to date. When it throws, it is called again, with `unknown`. */
  readonly apply: (changes: Changes['changes']) => Promise<void>
  /** Hears of the first round of each outage that fails. */
  readonly onProblem: (error: unknown) => void
}

/**
 * Follows what other processes and nodes change, by looking twice a second. Not by PostgreSQL's NOTIFY, whose commits
 * all take one lock, and which would still need the log of changes after each broken connection.
 */
export class Feed {
  readonly #storage: Storage
  readonly #options: FeedOptions
  #position: ChangePosition | null = null
  #asOf = Number.NEGATIVE_INFINITY
  #isFollowing = false
  #isAway = false
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined
  #isClosed = false
  #pruning: Promise<void> = Promise.resolve()
  #prunedAt: number
  #prunable: ChangePosition | undefined

  constructor(storage: Storage, options: FeedOptions) {
    this.#storage = storage
    this.#options = options
    this.#prunedAt = options.now()
  }

  /** How old memory may be. Milliseconds. */
  get ageMs(): number {
    return this.#options.now() - this.#asOf
  }

  /** The id of the database that is followed; null until it has answered. */
  get databaseId(): string | null {
    return this.#position?.database ?? null
  }

  /** Has everything loaded, now or as soon as the database answers, and goes on to follow. */
  begin(): Promise<void> {
    this.#isFollowing = true
    return this.look()
  }

  /** Resolves once memory has what was committed before the call, or the database has failed. */
  look(): Promise<void> {
    // Where there is no listener for visitors, memory is of no use.
    if (!this.#isFollowing) return Promise.resolve()
    if (this.#running === undefined) return this.#run()
    // A round that runs already may have read before the commit. All who call meanwhile share the one after it.
    this.#next ??= this.#running.then(() => this.#run())
    return this.#next
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#next
    await this.#running
    await this.#pruning
  }

  #wait(): void {
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.look(), everyMs).unref()
  }

  #run(): Promise<void> {
    clearTimeout(this.#timer)
    this.#next = undefined
    if (this.#isClosed) return Promise.resolve()
    this.#running = this.#round().finally(() => {
      this.#running = undefined
      this.#wait()
    })
    return this.#running
  }

  async #round(): Promise<void> {
    const start = this.#options.now()
    try {
      const { position, changes } = await this.#storage.changesAfter(this.#position)
      const isUnsure = this.#isAway || start - this.#asOf > maxPauseMs
      await this.#options.apply(isUnsure ? 'unknown' : changes)
      if (changes === 'unknown') this.#prunable = undefined
      this.#caughtUp(position, start)
    } catch (error) {
      if (!this.#isAway) this.#options.onProblem(error)
      this.#isAway = true
    }
  }

  #caughtUp(position: ChangePosition, start: number): void {
    this.#position = position
    this.#asOf = start
    this.#isAway = false
    if (start - this.#prunedAt >= pruneEveryMs) this.#prune(position, start)
  }

  /** What every node has read: it was there a minute ago. */
  #prune(position: ChangePosition, start: number): void {
    // What cannot be pruned now is pruned later.
    if (this.#prunable !== undefined) this.#pruning = this.#storage.pruneChanges(this.#prunable).catch(() => undefined)
    this.#prunable = position
    this.#prunedAt = start
  }
}
