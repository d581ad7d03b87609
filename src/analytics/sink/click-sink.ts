import type { ClickRow } from './row.ts'
import type { Spool } from './spool.ts'

/** Sends raw clicks to the sink. Until their spool can be opened, they are dropped and counted. */
export class ClickSink {
  readonly #openSpool: () => Spool
  readonly #onProblem: (error: unknown) => void
  #spool: Spool | undefined
  #hasBegun = false
  #isReported = false
  #dropped = 0

  /** Opens the spool. `onProblem` gets the first error of `openSpool`. */
  constructor(openSpool: () => Spool, onProblem: (error: unknown) => void) {
    this.#openSpool = openSpool
    this.#onProblem = onProblem
    this.#open()
  }

  /** The values of `sinkMeters`, in their order. */
  get measured(): readonly number[] {
    const [sent = 0, waiting = 0, bytes = 0, givenUp = 0] = this.#spool?.measured ?? []
    return [sent, waiting, bytes, givenUp + this.#dropped]
  }

  /** Stores clicks in the spool, after another attempt to open it if the last one failed. Never throws. */
  put(rows: readonly ClickRow[]): void {
    this.#open()
    if (this.#spool === undefined) this.#dropped += rows.length
    else this.#spool.put(rows)
  }

  /** See `Spool.begin`. */
  begin(): void {
    this.#hasBegun = true
    this.#spool?.begin()
  }

  /** See `Spool.close`. */
  async close(): Promise<void> {
    await this.#spool?.close()
  }

  #open(): void {
    if (this.#spool !== undefined) return
    try {
      this.#spool = this.#openSpool()
      if (this.#hasBegun) this.#spool.begin()
    } catch (error) {
      if (!this.#isReported) this.#onProblem(error)
      this.#isReported = true
    }
  }
}
