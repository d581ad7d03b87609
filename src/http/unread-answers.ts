import type { ServerResponse } from 'node:http'
import { ByteBudget } from './byte-budget.ts'

/** Bytes that may wait to be read, in all connections of a listener together. */
const defaultMaxBytes = 64 * 1024 * 1024

/** Bounds the memory for answers that clients do not read. */
export class UnreadAnswers {
  readonly #budget: ByteBudget

  constructor(maxBytes = defaultMaxBytes) {
    this.#budget = new ByteBudget(maxBytes)
  }

  /** How many bytes wait to be read. */
  get bytes(): number {
    return this.#budget.bytes
  }

  /** Counts an ended response that the client has not taken at once, until the response closes. */
  add(response: ServerResponse): void {
    const { socket } = response.req
    // Of a response that waits for others on its connection too.
    const bytes = response.writableLength
    response.once('close', () => this.#budget.release(socket, bytes))
    this.#budget.hold(socket, bytes)
  }
}
