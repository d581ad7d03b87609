import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { type Failure, overloaded } from '../errors.ts'
import type { Exchange } from './exchange.ts'

/** Beyond the limit, connections that are told so; what comes on top is closed unheard. A share of the limit. */
const toldShare = 0.1

/** Bounds the connections that a process serves, and so the memory and the files that they take. */
export class Connections {
  readonly #most: number
  readonly #surplus = new Set<Socket>()
  #open = 0

  /** Connections past `most` get one answer, which is a refusal. */
  constructor(most: number) {
    this.#most = most
  }

  /** Bounds the connections of this server from now on. */
  watch(server: Server): void {
    server.maxConnections = this.#most + Math.ceil(this.#most * toldShare)
    server.prependListener('connection', (socket) => {
      this.#open += 1
      if (this.#open > this.#most) this.#surplus.add(socket)
      socket.once('close', () => {
        this.#open -= 1
        this.#surplus.delete(socket)
      })
    })
  }

  /** Whether the request's connection is one too many: it is to be closed behind the answer. */
  isSurplus({ request }: Exchange): boolean {
    return this.#surplus.size > 0 && this.#surplus.has(request.socket)
  }
}

/** What a request gets on a connection that is one too many. The health check is never turned away. */
export function crowded({ route }: Exchange): Failure | undefined {
  if (route.template === '/health') return undefined
  return overloaded('The server has as many connections as it can serve.')
}
