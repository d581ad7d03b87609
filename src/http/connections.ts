import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Connections beyond the limit whose requests get a 503. The server closes any others. A share of the limit. */
const surplusShare = 0.1
/** An address with a larger share of the limit makes room for others first. */
const fairShare = 0.1
/** The number of connections closed by one scan, as a share of the limit. One scan serves many new connections. */
const batchShare = 0.01
/** The pause after a scan that found too few idle connections. Milliseconds. */
const scanPauseMs = 100

interface Connection {
  readonly socket: Socket
  readonly address: string | undefined
  /** The response to the latest request. */
  response: ServerResponse | undefined
  /** The number of the latest request, or of the connection itself, in the order of all such events. */
  lastEvent: number
}

/**
 * Bounds the number of connections that a server keeps open, and so their memory and file descriptors. When the limit is
 * reached, idle connections are closed to make room for new ones.
 */
export class Connections {
  readonly #max: number
  // Records are updated in place: adding and removing map entries for each request would keep old responses in memory.
  readonly #open = new Map<Socket, Connection>()
  readonly #surplus = new Set<Socket>()
  #events = 0
  /** No scan takes place until then, either for connections from one address or for any. */
  #pause = { until: 0, isForAll: false, address: undefined as string | undefined }

  /** `max` is the number of connections that are served at the same time. */
  constructor(max: number) {
    this.#max = max
  }

  /** The sockets of all open connections. */
  get open(): Iterable<Socket> {
    return this.#open.keys()
  }

  /** Tracks and bounds the connections of this server from now on. The server's own request listener must be attached already. */
  watch(server: Server): void {
    server.maxConnections = this.#max + Math.ceil(this.#max * surplusShare)
    server.prependListener('connection', (socket) => this.#admit(socket))
    // Runs after the server's own listener, which asks for the response to the previous request.
    server.on('request', ({ socket }, response) => {
      const connection = this.#open.get(socket)
      if (connection === undefined) return
      connection.response = response
      connection.lastEvent = ++this.#events
    })
  }

  /**
   * Returns the response that the connection is waiting for, if any. With pipelined requests, this is the response to the
   * last one, because responses are sent in order.
   */
  awaitedResponse(socket: Socket): ServerResponse | undefined {
    const response = this.#open.get(socket)?.response
    return response?.closed ? undefined : response
  }

  /** Returns whether the connection is beyond the limit. */
  isSurplus(socket: Socket): boolean {
    return this.#surplus.size > 0 && this.#surplus.has(socket)
  }

  #admit(socket: Socket): void {
    const connection = { socket, address: socket.remoteAddress, response: undefined, lastEvent: ++this.#events }
    this.#open.set(socket, connection)
    socket.once('close', () => this.#remove(socket))
    if (this.#open.size > this.#max) this.#makeRoom(connection)
    if (this.#open.size > this.#max) this.#surplus.add(socket)
  }

  #remove(socket: Socket): void {
    this.#open.delete(socket)
    this.#surplus.delete(socket)
  }

  /**
   * Closes the connections that have been idle longest, among the connections of the address with the most if it has more
   * than its share, and otherwise among all. New connections from that address never make another address give way.
   */
  #makeRoom(newcomer: Connection): void {
    const now = performance.now()
    const { until, isForAll, address } = this.#pause
    if (now < until && (isForAll || address === newcomer.address)) return
    const all = [...this.#open.values()]
    const largest = largestGroup(all)
    const isCrowded = largest.length > this.#max * fairShare
    const isFromLargest = isCrowded && largest[0]?.address === newcomer.address
    const isIdle = (connection: Connection) => connection !== newcomer && this.#isIdle(connection)
    let idle = (isCrowded ? largest : all).filter(isIdle)
    if (idle.length === 0 && !isFromLargest) idle = all.filter(isIdle)
    const batch = Math.max(1, Math.floor(this.#max * batchShare))
    if (idle.length < batch) {
      this.#pause = { until: now + scanPauseMs, isForAll: !isFromLargest, address: newcomer.address }
    }
    for (const { socket } of idle.sort((a, b) => a.lastEvent - b.lastEvent).slice(0, batch)) {
      this.#remove(socket)
      socket.destroy()
    }
  }

  /** Whether the server is waiting for the client: no request is being handled, or its body is incomplete. */
  #isIdle({ socket }: Connection): boolean {
    return this.awaitedResponse(socket)?.req.complete !== true
  }
}

function largestGroup(connections: readonly Connection[]): readonly Connection[] {
  const groups = [...Map.groupBy(connections, ({ address }) => address).values()]
  return groups.reduce((largest, group) => (group.length > largest.length ? group : largest))
}
