import { Failure } from '../errors.ts'
import type { DatabaseCondition } from './port.ts'

/** How an engine checks its database. Each function throws `database_unavailable` if the database does not respond. */
interface Checks {
  isReadOnly(): Promise<boolean>
  /** Writes enough to detect a full disk, and throws the error. */
  tryToWrite(): Promise<void>
}

/** The condition of a database, as checks and the errors since it was opened show it. */
export class Condition {
  #damage: Failure | undefined
  #isFull = false
  #running: Promise<DatabaseCondition> | undefined

  /** Records what an error means for the database, and returns the error. */
  noted(error: unknown): unknown {
    const reason = error instanceof Failure ? error.facts.reason : undefined
    if (reason === 'database_corrupt') this.#damage ??= error as Failure
    if (reason === 'disk_full') this.#isFull = true
    return error
  }

  /** See `Storage.condition`. Concurrent callers share one check. */
  check(checks: Checks): Promise<DatabaseCondition> {
    this.#running ??= this.#check(checks).finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #check({ isReadOnly, tryToWrite }: Checks): Promise<DatabaseCondition> {
    const isRejectingWrites = await isReadOnly()
    if (this.#damage !== undefined) throw this.#damage
    if (isRejectingWrites) return 'read_only'
    try {
      if (this.#isFull) await tryToWrite()
    } catch (error) {
      if (error instanceof Failure && error.facts.reason === 'disk_full') return 'disk_full'
      throw error
    }
    this.#isFull = false
    return 'ok'
  }
}
