import { Failure } from '../errors.ts'
import type { DatabaseCondition } from './port.ts'

/** The condition of a database, as its errors since it was opened show it. */
export class Condition {
  #damage: Failure | undefined
  #isFull = false
  #trial: Promise<DatabaseCondition> | undefined

  /** Records what an error means for the database, and returns the error. */
  noted(error: unknown): unknown {
    const reason = error instanceof Failure ? error.facts.reason : undefined
    if (reason === 'database_corrupt') this.#damage ??= error as Failure
    if (reason === 'disk_full') this.#isFull = true
    return error
  }

  /**
   * See `Storage.condition`. If the disk was full, `tryToWrite` must throw the error of a write. Concurrent callers share one
   * call of it.
   */
  async told(tryToWrite: () => Promise<unknown>, isReadOnly = false): Promise<DatabaseCondition> {
    if (this.#damage !== undefined) throw this.#damage
    if (isReadOnly) return 'read_only'
    if (!this.#isFull) return 'ok'
    this.#trial ??= this.#try(tryToWrite).finally(() => {
      this.#trial = undefined
    })
    return this.#trial
  }

  async #try(tryToWrite: () => Promise<unknown>): Promise<DatabaseCondition> {
    try {
      await tryToWrite()
    } catch (error) {
      if (error instanceof Failure && error.facts.reason === 'disk_full') return 'disk_full'
      throw error
    }
    this.#isFull = false
    return 'ok'
  }
}
