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
  isSurplus: boolean
  response: ServerResponse | undefined
  /** The number of the latest request, or of the connection itself, in the order of all such events. */
  lastEvent: number
}

/** Bounds the open connections of a server. When the limit is reached, idle connections make room for new ones. */
export class Connections {
  readonly #max: number
  // Records are updated in place: adding and removing map entries for each request would keep old responses in memory.
  readonly #open = new Map<Socket, Connection>()
  #events = 0
  /** No scan takes place until then, either for connections from one address or for any. */
  #pause = { until: 0, isForAll: false, address: undefined as string | undefined }

  /** Tracks and bounds the connections of the server, which must have its request listener. `max` of them are served. */
  constructor(server: Server, max: number) {
    this.#max = max
    server.maxConnections = max + Math.ceil(max * surplusShare)
    server.prependListener('connection', (socket) => this.#admit(socket))
    // Runs after the server's own listener, which asks for the response to the previous request.
    server.on('request', ({ socket }, response) => {
      const connection = this.#open.get(socket)
      if (connection === undefined) return
      connection.response = response
      connection.lastEvent = ++this.#events
    })
  }

  /** Returns the response that the connection is waiting for; with pipelined requests, the last one. */
  awaitedResponse(socket: Socket): ServerResponse | undefined {
    const response = this.#open.get(socket)?.response
    return response?.closed ? undefined : response
  }

  isSurplus(socket: Socket): boolean {
    return this.#open.get(socket)?.isSurplus === true
  }

  /** Tells clients to close their connections after the responses that they are waiting for. */
  closeAfterResponses(): void {
    for (const socket of this.#open.keys()) {
      const response = this.awaitedResponse(socket)
      if (response?.headersSent === false) response.setHeader('connection', 'close')
    }
  }

  /** Closes the connections that are not waiting for a response. */
  closeIdle(): void {
    for (const socket of this.#open.keys()) if (this.awaitedResponse(socket) === undefined) socket.destroy()
  }

  #admit(socket: Socket): void {
    const address = socket.remoteAddress
    const connection = { socket, address, isSurplus: false, response: undefined, lastEvent: ++this.#events }
    this.#open.set(socket, connection)
    socket.once('close', () => this.#open.delete(socket))
    if (this.#open.size > this.#max) this.#makeRoom(connection)
    connection.isSurplus = this.#open.size > this.#max
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
    const groups = [...Map.groupBy(all, (connection) => connection.address).values()]
    const largest = groups.reduce((most, group) => (group.length > most.length ? group : most))
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
      this.#open.delete(socket)
      socket.destroy()
    }
  }

  /** Whether the server is waiting for the client: no request is being handled, or its body is incomplete. */
  #isIdle({ socket }: Connection): boolean {
    return this.awaitedResponse(socket)?.req.complete !== true
  }
}
