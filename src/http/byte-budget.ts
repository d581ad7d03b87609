import type { Socket } from 'node:net'

/** A connection that holds a larger share of the budget is the first to be closed. */
const fairShare = 1 / 8

/** Bounds the memory of all connections. Closes connections with large shares first, then the longest waiting ones. */
export class ByteBudget {
  bytes = 0
  readonly #maxBytes: number
  /** The bytes that each connection holds. Sorted by waiting time, longest first. */
  readonly #held = new Map<Socket, number>()

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Adds to the bytes of an open connection. Closes connections, maybe this one, if the budget is exceeded. */
  hold(socket: Socket, bytes: number): void {
    if (socket.destroyed || bytes === 0) return
    const held = (this.#held.get(socket) ?? 0) + bytes
    this.#held.set(socket, held)
    this.bytes += bytes
    if (this.bytes > this.#maxBytes && held > this.#maxBytes * fairShare) this.#close(socket, held)
    for (const [oldest, oldestBytes] of this.#held) {
      if (this.bytes <= this.#maxBytes) break
      this.#close(oldest, oldestBytes)
    }
  }

  /** Subtracts from the bytes of the connection, and restarts its waiting time. */
  release(socket: Socket, bytes: number): void {
    const held = this.#held.get(socket)
    if (held === undefined) return
    this.bytes -= bytes
    this.#held.delete(socket)
    if (held > bytes) this.#held.set(socket, held - bytes)
  }

  #close(socket: Socket, held: number): void {
    this.release(socket, held)
    socket.destroy()
  }
}
