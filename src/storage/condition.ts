import { Failure } from '../errors.ts'
import type { DatabaseCondition } from './port.ts'

/** What the failures of its statements have told about a database since it was opened. */
export class Condition {
  #damage: Failure | undefined
  #isFull = false
  #trial: Promise<DatabaseCondition> | undefined

  /** Returns the error, having noted what it says about the database. */
  noted(error: unknown): unknown {
    const reason = error instanceof Failure ? error.facts.reason : undefined
    if (reason === 'database_corrupt') this.#damage ??= error as Failure
    if (reason === 'disk_full') this.#isFull = true
    return error
  }

  /**
   * See `Storage.condition`. `tryToWrite` runs while the disk is known to be full, once for all who ask at a time; it
   * throws what a write would throw.
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
