import type { Writable } from 'node:stream'
import type { ClientBase } from 'pg'

/** At most so many pieces of work share a connection for a turn: past that, others would be sooner served by another. */
export const mostTogether = 32

/** The wire of a connection, which `pg` does not name in its types. */
export function wireOf(client: ClientBase): Writable {
  return (client as unknown as { connection: { stream: Writable } }).connection.stream
}

/**
 * What `ask` returns; the statements that it begins in this moment leave in one packet. Writing to the socket costs more
 * than all else that is done for a statement, mostly since it wakes the server's process. The connection must be one that
 * sends statements without awaiting the answers of those before.
 */
export function inOnePacket<T>(client: ClientBase, ask: () => T): T {
  const wire = wireOf(client)
  wire.cork()
  try {
    return ask()
  } finally {
    wire.uncork()
  }
}

/** Collects what one turn of the event loop asks for, and hands it on at the turn's end. */
export class Turn<Item> {
  readonly #onEnd: (items: Item[]) => void
  #items: Item[] = []

  /** `onEnd` is called with `mostTogether` items at most, several times if need be. */
  constructor(onEnd: (items: Item[]) => void) {
    this.#onEnd = onEnd
  }

  add(item: Item): void {
    if (this.#items.push(item) === 1) setImmediate(() => this.#end())
  }

  #end(): void {
    const items = this.#items
    this.#items = []
    for (let from = 0; from < items.length; from += mostTogether) this.#onEnd(items.slice(from, from + mostTogether))
  }
}
