import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Bytes that may wait to be read, in all connections of a listener together. */
const defaultMaxBytes = 64 * 1024 * 1024
/** A connection that holds a larger share of the budget is the first to be cut. */
const fairShare = 1 / 8

/**
 * Bounds the memory for answers that clients do not read. Past the budget, a connection that holds much of it is cut,
 * and otherwise those that have gone longest without taking an answer.
 */
export class UnreadAnswers {
  readonly #maxBytes: number
  /** The bytes that each connection has yet to take. The one that has waited longest comes first. */
  readonly #waiting = new Map<Socket, number>()
  #bytes = 0

  constructor(maxBytes = defaultMaxBytes) {
    this.#maxBytes = maxBytes
  }

  /** How many bytes wait to be read. */
  get bytes(): number {
    return this.#bytes
  }

  /** Counts an ended response that the client has not taken at once, until the response closes. */
  add(response: ServerResponse): void {
    const { socket } = response.req
    // Of a response that waits for others on its connection too.
    const bytes = response.writableLength
    this.#waiting.set(socket, (this.#waiting.get(socket) ?? 0) + bytes)
    this.#bytes += bytes
    response.once('close', () => this.#taken(socket, bytes))
    if (this.#isOver && (this.#waiting.get(socket) as number) > this.#maxBytes * fairShare) this.#cut(socket)
    for (const oldest of this.#waiting.keys()) {
      if (!this.#isOver) break
      this.#cut(oldest)
    }
  }

  get #isOver(): boolean {
    return this.#bytes > this.#maxBytes
  }

  #taken(socket: Socket, bytes: number): void {
    const held = this.#waiting.get(socket)
    if (held === undefined) return
    this.#bytes -= bytes
    // A connection that reads goes to the end of the line.
    this.#waiting.delete(socket)
    if (held > bytes) this.#waiting.set(socket, held - bytes)
  }

  #cut(socket: Socket): void {
    this.#bytes -= this.#waiting.get(socket) as number
    this.#waiting.delete(socket)
    socket.destroy()
  }
}
