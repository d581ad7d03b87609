import type { Logger } from 'pino'
import type { Failure } from '../errors.ts'

/** Time for which repeated failures are counted before the count is logged. Milliseconds. */
const windowMs = 60_000
/** Any further kinds of failures are counted as one kind. */
const maxKinds = 100

/**
 * Logs failures that the operator can fix. A database that is down fails every request in the same way, so only the first
 * failure of a kind in a minute is logged with its cause. The others are counted and logged in one line.
 */
export class FailureLog {
  readonly #logger: Logger
  /** The number of repetitions in this minute, by kind. */
  readonly #repeats = new Map<string, number>()

  constructor(logger: Logger) {
    this.#logger = logger
  }

  add(requestId: string, failure: Failure): void {
    const { code, facts, message } = failure
    const kind = this.#kindOf(failure)
    const repeats = this.#repeats.get(kind)
    this.#repeats.set(kind, repeats === undefined ? 0 : repeats + 1)
    if (repeats !== undefined) return
    this.#logger.warn({ request_id: requestId, code, reason: facts.reason, err: facts.cause }, message)
    setTimeout(() => this.#endWindow(kind, failure), windowMs).unref()
  }

  #kindOf({ code, facts: { reason, cause } }: Failure): string {
    const kind = [code, reason, cause instanceof Error ? cause.message : String(cause)].join('\n')
    return this.#repeats.size < maxKinds || this.#repeats.has(kind) ? kind : ''
  }

  #endWindow(kind: string, { code, facts: { reason } }: Failure): void {
    const repeats = this.#repeats.get(kind)
    this.#repeats.delete(kind)
    if (repeats) this.#logger.warn({ code, reason, repeats }, 'the same failure again, within a minute of the first')
  }
}
