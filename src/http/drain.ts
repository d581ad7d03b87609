import type { Server, ServerResponse } from 'node:http'
import { type Socket, Server as TcpServer } from 'node:net'

/** Once the process is told to stop, an idle connection may bring one more request for this long. Milliseconds. */
const graceMs = 300

/** What goes on at a server whose responses are followed (`followResponses`). */
export class Traffic {
  readonly #server: Server
  readonly #connections = new Set<Socket>()
  #changed: () => void = () => undefined

  constructor(server: Server) {
    this.#server = server
    server.on('connection', (socket) => {
      this.#connections.add(socket)
      socket.once('close', () => {
        this.#connections.delete(socket)
        this.#changed()
      })
    })
  }

  /**
   * Stops accepting connections and resolves when every request has been answered. Connections that are idle get a
   * moment more, so that a request that is on its way can be refused in words. What takes longer than `deadlineMs`
   * is cut.
   */
  async stop(deadlineMs: number): Promise<void> {
    // Not the HTTP server's own `close`, which ends idle connections at once.
    TcpServer.prototype.close.call(this.#server)
    for (const response of this.#unanswered()) {
      if (!response.headersSent) response.setHeader('connection', 'close')
      this.#await(response)
    }
    this.#server.prependListener('request', (_, response) => this.#await(response))
    await this.#quiet(deadlineMs)
    this.#server.closeAllConnections()
  }

  #await(response: ServerResponse): void {
    response.once('close', () => this.#changed())
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
        if (this.#connections.size === 0 || (isGraceOver && this.#unanswered().length === 0)) done()
      }
      this.#changed()
    })
  }

  #unanswered(): ServerResponse[] {
    return [...this.#connections].map(awaitedResponse).filter((response) => response !== undefined)
  }
}

const latest = Symbol('latest response')

type Followed = Socket & { [latest]?: ServerResponse }

/**
 * Remembers the latest response of each connection. A set of all that are under way would not do: one that is added to
 * and deleted from all the time is copied again and again, and its old copies keep thousands of responses alive.
 */
export function followResponses(server: Server): void {
  server.prependListener('request', ({ socket }: { socket: Followed }, response) => {
    socket[latest] = response
  })
}

/**
 * The response that the connection waits for; undefined when it waits for none. Of requests that were sent at once, that
 * of the last: answers leave in order.
 */
export function awaitedResponse({ [latest]: response }: Followed): ServerResponse | undefined {
  return response === undefined || response.closed ? undefined : response
}
