import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Call, onTheWire } from './call.ts'
import { connections, type Load, type LoadOptions, UnexpectedAnswers } from './load.ts'

export interface PacedOptions extends Omit<LoadOptions, 'most'> {
  /** Requests per second on all connections. */
  readonly perSecond: number
}

const tickMs = 1
/** Time for the last responses. */
const patienceMs = 10_000

/**
 * Sends requests at even intervals over as many connections as `drive`. A latency starts when the request is due, even if no
 * connection is free. (autocannon sends all requests of a second together.) Throws `UnexpectedAnswers`.
 */
export async function drivePaced({ ports, seconds, status, next, perSecond }: PacedOptions): Promise<Load> {
  const lines = await Promise.all(
    Array.from({ length: connections }, (_, at) => Line.to(ports[at % ports.length] as number)),
  )
  const idle = [...lines]
  const total = Math.floor(perSecond * seconds)
  const latencies: number[] = []
  const start = performance.now()
  const dueAt = (request: number) => start + (request / perSecond) * 1000
  let sent = 0
  let last = start

  const sendDue = (now: number) => {
    while (sent < total && dueAt(sent) <= now && idle.length > 0) {
      const line = idle.pop() as Line
      const due = dueAt(sent)
      sent += 1
      line.send(next(), (seen) => {
        last = performance.now()
        if (seen !== status) throw new UnexpectedAnswers(`expected only ${status}, saw ${seen}`)
        latencies.push(last - due)
        idle.push(line)
        sendDue(last)
      })
    }
  }

  try {
    const deadline = start + seconds * 1000 + patienceMs
    while (latencies.length < total) {
      for (const { error } of lines) if (error !== undefined) throw error
      const now = performance.now()
      if (now > deadline) throw new UnexpectedAnswers(`${total - latencies.length} requests were not answered`)
      sendDue(now)
      await sleep(tickMs)
    }
  } finally {
    for (const line of lines) line.close()
  }
  const span = (last - start) / 1000
  return { sent, answered: latencies.length, seconds: span, latencies: Float64Array.from(latencies).sort() }
}

/** A connection with at most one active request. */
class Line {
  readonly #socket: Socket
  #received: Buffer = Buffer.alloc(0)
  #answered: (status: number) => void = () => undefined
  /** The error that ends the run. */
  error: Error | undefined

  static async to(port: number): Promise<Line> {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true })
    await once(socket, 'connect')
    return new Line(socket)
  }

  private constructor(socket: Socket) {
    this.#socket = socket
    const failed = (error?: Error) => {
      this.error ??= new UnexpectedAnswers(`a connection failed: ${error?.message ?? 'the server closed it'}`)
    }
    socket.on('error', failed).on('end', failed)
    socket.on('data', (chunk: Buffer) => {
      try {
        this.#receive(chunk)
      } catch (error) {
        this.error ??= error as Error
      }
    })
  }

  /** Sends a request. Calls `answered` with the status of the complete response. */
  send(call: Call, answered: (status: number) => void): void {
    this.#answered = answered
    this.#socket.write(onTheWire(call))
  }

  close(): void {
    this.#socket.destroy()
  }

  #receive(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
    const end = this.#received.indexOf('\r\n\r\n')
    if (end < 0) return
    const head = this.#received.toString('latin1', 0, end)
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
    if (length === undefined) throw new UnexpectedAnswers('a response has no Content-Length')
    if (this.#received.length < end + 4 + Number(length)) return
    this.#received = Buffer.alloc(0)
    this.#answered(Number(head.slice(9, 12)))
  }
}
