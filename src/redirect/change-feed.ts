import { Periodic } from '../lib/periodic.ts'
import type { ChangePosition, Changes, Storage } from '../storage/port.ts'

/** Changes must be visible everywhere within a second. Milliseconds. */
const everyMs = 500
/** After a longer pause of this process, changes may have been pruned before they were read. Milliseconds. */
const maxPauseMs = 30_000
/** Changes are pruned when they are one to two of these intervals old. Milliseconds. */
const pruneEveryMs = 60_000

type Apply = (changes: Changes['changes']) => Promise<void>

/** Polls changes of other processes. NOTIFY would serialize commits, and lose changes with its connection. */
export class ChangeFeed {
  readonly #storage: Storage
  readonly #apply: Apply
  readonly #onProblem: (error: unknown) => void
  readonly #polling: Periodic
  #position: ChangePosition | null = null
  #updatedAt = Number.NEGATIVE_INFINITY
  #isAway = false
  #pruning: Promise<void> = Promise.resolve()
  #prunedAt = performance.now()
  #prunable: ChangePosition | undefined

  /** `apply` updates memory. If it fails, it gets `unknown` next. `onProblem` gets the first error of each outage. */
  constructor(storage: Storage, apply: Apply, onProblem: (error: unknown) => void) {
    this.#storage = storage
    this.#apply = apply
    this.#onProblem = onProblem
    this.#polling = new Periodic(() => this.#poll(), { everyMs, onError: (error) => this.#fail(error) })
  }

  get ageMs(): number {
    return performance.now() - this.#updatedAt
  }

  /** The database id; null until the database has responded. */
  get databaseId(): string | null {
    return this.#position?.database ?? null
  }

  /** Starts to follow. Resolves when everything is loaded, or the database has failed. */
  start(): Promise<void> {
    this.#polling.start()
    return this.poll()
  }

  /** Resolves when memory has everything that was committed before the call, or the database has failed. */
  async poll(): Promise<void> {
    // Without a redirect server, nothing is kept in memory.
    if (this.#polling.isStarted) await this.#polling.run()
  }

  async close(): Promise<void> {
    await this.#polling.close()
    await this.#pruning
  }

  async #poll(): Promise<void> {
    const start = performance.now()
    const { position, changes } = await this.#storage.changesAfter(this.#position)
    const isUnsure = this.#isAway || start - this.#updatedAt > maxPauseMs
    await this.#apply(isUnsure ? 'unknown' : changes)
    if (changes === 'unknown') this.#prunable = undefined
    this.#position = position
    this.#updatedAt = start
    this.#isAway = false
    if (start - this.#prunedAt >= pruneEveryMs) this.#prune(position, start)
  }

  #fail(error: unknown): void {
    if (!this.#isAway) this.#onProblem(error)
    this.#isAway = true
  }

  /** Prunes up to the position of a minute ago, which every node has read. The next prune makes up for a failed one. */
  #prune(position: ChangePosition, start: number): void {
    if (this.#prunable !== undefined) this.#pruning = this.#storage.pruneChanges(this.#prunable).catch(() => undefined)
    this.#prunable = position
    this.#prunedAt = start
  }
}
