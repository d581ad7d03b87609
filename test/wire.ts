/** A proxy of the PostgreSQL server, which can reset or pause connections and change bytes. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Returns the bytes to forward; null resets all connections. */
export type Passing = (bytes: Buffer) => Buffer | null

export class Wire {
  onSent: Passing = (bytes) => bytes
  onAnswer: Passing = (bytes) => bytes
  /** The number of connections so far. */
  connections = 0
  readonly #sockets = new Set<Socket>()
  readonly #server = createServer((near) => this.#join(near))
  readonly #target: URL
  #isSilent = false
  #isCut = false

  constructor(url: string) {
    this.#target = new URL(url)
  }

  /** Starts the proxy. Returns the URL of the database through it. */
  async url(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    const url = new URL(this.#target)
    url.port = String((this.#server.address() as AddressInfo).port)
    return url.href
  }

  /** Forwards nothing, like a pulled cable. */
  silence(): void {
    this.#isSilent = true
    for (const socket of this.#sockets) socket.pause()
  }

  /** Resets current and new connections. */
  cut(): void {
    this.#isCut = true
    for (const socket of this.#sockets) socket.resetAndDestroy()
  }

  mend(): void {
    this.#isSilent = false
    this.#isCut = false
    for (const socket of this.#sockets) socket.resume()
  }

  close(): void {
    this.cut()
    this.#server.close()
  }

  #join(near: Socket): void {
    this.connections += 1
    if (this.#isCut) return void near.resetAndDestroy()
    const far = connect(Number(this.#target.port), this.#target.hostname)
    this.#carry(near, far, (bytes) => this.onSent(bytes))
    this.#carry(far, near, (bytes) => this.onAnswer(bytes))
  }

  #carry(from: Socket, to: Socket, passing: Passing): void {
    this.#sockets.add(from)
    from.on('error', () => undefined)
    from.on('data', (bytes: Buffer) => {
      const passed = passing(bytes)
      if (passed === null) this.cut()
      else to.write(passed)
    })
    from.on('close', () => {
      this.#sockets.delete(from)
      to.destroy()
    })
    if (this.#isSilent) from.pause()
  }
}
