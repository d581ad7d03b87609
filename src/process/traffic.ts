import type { Server, ServerResponse } from 'node:http'
import { type Socket, Server as TcpServer } from 'node:net'

/** Once the process is told to stop, an idle connection may bring one more request for this long. Milliseconds. */
const graceMs = 300

/** What goes on at a server: its connections, and the requests that are not answered yet. */
export class Traffic {
  readonly #server: Server
  readonly #connections = new Set<Socket>()
  readonly #unanswered = new Set<ServerResponse>()
  #changed: () => void = () => undefined

  constructor(server: Server) {
    this.#server = server
    server.on('connection', (socket) => this.#follow(this.#connections, socket))
    server.prependListener('request', (_, response) => this.#follow(this.#unanswered, response))
  }

  /**
   * Stops accepting connections and resolves when every request has been answered. Connections that are idle get a
   * moment more, so that a request that is on its way can be refused in words. What takes longer than `deadlineMs`
   * is cut.
   */
  async stop(deadlineMs: number): Promise<void> {
    // Not the HTTP server's own `close`, which ends idle connections at once.
    TcpServer.prototype.close.call(this.#server)
    for (const response of this.#unanswered) {
      if (!response.headersSent) response.setHeader('connection', 'close')
    }
    await this.#quiet(deadlineMs)
    this.#server.closeAllConnections()
  }

  #quiet(deadlineMs: number): Promise<void> {
    return new Promise((resolve) => {
      let isGraceOver = false
      const grace = setTimeout(() => {
        isGraceOver = true
        this.#changed()
      }, graceMs)
      const deadline = setTimeout(() => done(), deadlineMs)
      const done = (): void => {
        clearTimeout(grace)
        clearTimeout(deadline)
        resolve()
      }
      this.#changed = () => {
        if (this.#connections.size === 0 || (isGraceOver && this.#unanswered.size === 0)) done()
      }
      this.#changed()
    })
  }

  /** Keeps the item until it is closed, whether it came to its end or was aborted. */
  #follow<Item extends Socket | ServerResponse>(items: Set<Item>, item: Item): void {
    items.add(item)
    item.once('close', () => {
      items.delete(item)
      this.#changed()
    })
  }
}
