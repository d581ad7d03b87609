import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Exchange } from './exchange.ts'

/** Connections past the limit whose requests are refused with a 503. The rest is closed at once. A share of the limit. */
const surplusShare = 0.1
/** An address that holds a larger share of the limit makes room for others. */
const fairShare = 0.1
/** How many connections are cut at a time, so that one scan serves many newcomers. A share of the limit. */
const batchShare = 0.01
/** A scan that found too few connections to cut is not repeated for this long. Milliseconds. */
const scanPauseMs = 100

const latest = Symbol('latest response')
const order = Symbol('order of the latest request')

type Tracked = Socket & {
  /** The response to the latest request. */
  [latest]?: ServerResponse
  /** When the latest request arrived, or else the connection, as a place in the order of all such events. */
  [order]: number
}

/**
 * The response that the connection waits for; undefined if it waits for none. Of pipelined requests, the response to the
 * last: responses leave in order. The connection is one of a server that `Connections` tracks.
 */
export function awaitedResponse(socket: Socket): ServerResponse | undefined {
  const response = (socket as Tracked)[latest]
  return response === undefined || response.closed ? undefined : response
}

/**
 * Bounds the connections that a server keeps open, and so the memory and the file descriptors that they take. When the
 * server is full, connections without a request under way make room for new ones.
 */
export class Connections {
  readonly #max: number
  readonly #addresses = new Map<Tracked, string | undefined>()
  readonly #surplus = new Set<Socket>()
  #events = 0
  #nextScanAt = 0
  /** An address for which no scan is made until then. */
  #paused: { readonly address: string | undefined; readonly until: number } = { address: undefined, until: 0 }

  /** `max`: how many connections are served at once. */
  constructor(max: number) {
    this.#max = max
  }

  /** Every connection that is open. */
  get open(): Iterable<Socket> {
    return this.#addresses.keys()
  }

  /** Tracks and bounds the connections of this server from now on. The server's own request listener must be attached already. */
  watch(server: Server): void {
    server.maxConnections = this.#max + Math.ceil(this.#max * surplusShare)
    server.prependListener('connection', (socket) => this.#admit(socket as Tracked))
    // A property of the connection: a Set that changes with every request keeps thousands of old responses alive. Set
    // after the server's own listener has asked for the response before this one.
    server.on('request', ({ socket }, response) => {
      const tracked = socket as Tracked
      tracked[latest] = response
      tracked[order] = ++this.#events
    })
  }

  /** Whether the request came on a connection past the limit, which is closed after the response. */
  isSurplus({ request }: Exchange): boolean {
    return this.#surplus.size > 0 && this.#surplus.has(request.socket)
  }

  #admit(socket: Tracked): void {
    socket[order] = ++this.#events
    this.#addresses.set(socket, socket.remoteAddress)
    socket.once('close', () => this.#forget(socket))
    if (this.#addresses.size > this.#max) this.#makeRoom(socket)
    if (this.#addresses.size > this.#max) this.#surplus.add(socket)
  }

  #forget(socket: Tracked): void {
    this.#addresses.delete(socket)
    this.#surplus.delete(socket)
  }

  /** Cuts those that have gone longest without a request, of the connections that must make room for this one. */
  #makeRoom(newcomer: Tracked): void {
    const now = performance.now()
    const address = this.#addresses.get(newcomer)
    if (now < this.#nextScanAt || (address === this.#paused.address && now < this.#paused.until)) return
    const batch = Math.max(1, Math.floor(this.#max * batchShare))
    const { idle, isOwn } = this.#idleFor(newcomer)
    // An address whose connections are all busy must not stop others from getting room.
    if (idle.length < batch && isOwn) this.#paused = { address, until: now + scanPauseMs }
    else if (idle.length < batch) this.#nextScanAt = now + scanPauseMs
    for (const socket of longestIdle(idle, batch)) {
      this.#forget(socket)
      socket.destroy()
    }
  }

  /**
   * The idle connections among which room is made: those of the address with the most connections, if it has more than its
   * share, and otherwise all. An address with more than its share never makes another one give way: `isOwn`.
   */
  #idleFor(newcomer: Tracked): { readonly idle: Tracked[]; readonly isOwn: boolean } {
    const [address, count] = this.#largestHolder()
    const idle = [...this.#addresses.keys()].filter((socket) => socket !== newcomer && isClientsTurn(socket))
    if (count <= this.#max * fairShare) return { idle, isOwn: false }
    const own = idle.filter((socket) => this.#addresses.get(socket) === address)
    const isOwn = this.#addresses.get(newcomer) === address
    return { idle: own.length > 0 || isOwn ? own : idle, isOwn }
  }

  /** The address with the most connections, and how many it has. */
  #largestHolder(): [address: string | undefined, count: number] {
    const counts = new Map<string | undefined, number>()
    let largest: [string | undefined, number] = [undefined, 0]
    for (const address of this.#addresses.values()) {
      const count = (counts.get(address) ?? 0) + 1
      counts.set(address, count)
      if (count > largest[1]) largest = [address, count]
    }
    return largest
  }
}

/** Whether the connection waits for its client: no request is under way, or its body has not arrived. */
function isClientsTurn(socket: Tracked): boolean {
  return awaitedResponse(socket)?.req.complete !== true
}

/** Those of the sockets that have gone longest without a request. Sorting numbers takes a third of sorting the sockets. */
function longestIdle(sockets: readonly Tracked[], count: number): readonly Tracked[] {
  if (sockets.length <= count) return sockets
  const orders = new Float64Array(sockets.length)
  for (const [at, socket] of sockets.entries()) orders[at] = socket[order]
  const last = orders.sort()[count - 1] as number
  return sockets.filter((socket) => socket[order] <= last)
}
