import { once } from 'node:events'
import type { Server } from 'node:http'
import { Server as TcpServer } from 'node:net'
import { awaitedResponse, type Connections } from './connections.ts'

/** How long idle connections may still bring a request, once the listener has been told to stop. Milliseconds. */
const graceMs = 300

/** The end of a listener. */
export class Drain {
  /** Whether the listener has been told to stop: from then on it refuses requests. */
  isDraining = false
  readonly #connections: Connections

  /** `connections` are those of the listener's server. */
  constructor(connections: Connections) {
    this.#connections = connections
  }

  /**
   * Stops accepting connections, and resolves once every request under way has been answered and all connections are
   * closed. Idle connections are closed after a moment, so that requests already on their way get a 503 and not a reset.
   * After `deadlineMs` every connection is cut.
   */
  async stop(server: Server, deadlineMs: number): Promise<void> {
    this.isDraining = true
    const closed = once(server, 'close')
    // The close of the base class: the HTTP server's own also closes idle connections at once, and offers no other way.
    TcpServer.prototype.close.call(server)
    for (const socket of this.#connections.open) {
      const response = awaitedResponse(socket)
      if (response?.headersSent === false) response.setHeader('connection', 'close')
    }
    const sweep = setInterval(() => this.#closeIdle(), graceMs)
    const deadline = setTimeout(() => server.closeAllConnections(), deadlineMs)
    await closed
    clearInterval(sweep)
    clearTimeout(deadline)
  }

  #closeIdle(): void {
    for (const socket of this.#connections.open) {
      if (awaitedResponse(socket) === undefined) socket.destroy()
    }
  }
}
