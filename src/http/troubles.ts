import type { Logger } from 'pino'
import type { Failure } from '../errors.ts'

/** How long failures of one kind are counted before the count is logged. Milliseconds. */
const windowMs = 60_000
/** Kinds that are counted apart; what comes beyond them counts as one more kind. */
const maxKinds = 100

/**
 * Logs failures that the operator can mend. A database that is away fails every request in the same way: the first
 * failure of a kind in a minute is logged with its cause, the others are counted and logged in one line.
 */
export class Troubles {
  readonly #logger: Logger
  /** By kind: how many came after the first of this minute. */
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
