import autocannon, { type Result } from 'autocannon'
import { type Call, onTheWire } from './call.ts'

/** The result of one run. */
export interface Load {
  /** Sent requests, and responses within the time. */
  readonly sent: number
  readonly answered: number
  readonly seconds: number
  /** Milliseconds of each response, ascending. */
  readonly latencies: Float64Array
}

export interface LoadOptions {
  /** Ports of equal servers. The number of ports divides the number of connections. */
  readonly ports: readonly number[]
  readonly seconds: number
  /** The expected status. */
  readonly status: number
  readonly next: () => Call
  /** The maximum number of requests. */
  readonly most?: number | undefined
  /** 32 by default. */
  readonly clients?: number
}

export const connections = 32
const timeoutSeconds = 60
const lookMs = 20

/** Sends requests over some connections. Each sends the next request after a response. Throws `UnexpectedAnswers`. */
export async function drive({ ports, seconds, status, next, most, clients = connections }: LoadOptions): Promise<Load> {
  const latencies: number[] = []
  const start = performance.now()
  let last = start
  const results = await Promise.all(
    ports.map((port) => {
      const run = autocannon({
        url: `http://127.0.0.1:${port}`,
        connections: clients / ports.length,
        duration: seconds,
        sampleInt: lookMs,
        timeout: timeoutSeconds,
        skipAggregateResult: true,
        ...(most === undefined ? {} : { maxOverallRequests: Math.floor(most / ports.length) }),
        setupClient: (client) => {
          client.requestIterator = new Endless(next)
        },
      })
      run.on('response', (_client, _status, _bytes, ms: number) => {
        latencies.push(ms)
        last = performance.now()
      })
      return run
    }),
  )
  for (const result of results) refuseOthers(result, status)
  return {
    sent: results.reduce((sum, { totalRequests }) => sum + totalRequests, 0),
    answered: results.reduce((sum, { totalCompletedRequests }) => sum + totalCompletedRequests, 0),
    seconds: (last - start) / 1000,
    latencies: Float64Array.from(latencies).sort(),
  }
}

function refuseOthers({ statusCodeStats, errors }: Result, status: number): void {
  const statuses = Object.entries(statusCodeStats)
  if (errors === 0 && statuses.length > 0 && statuses.every(([seen]) => Number(seen) === status)) return
  const seen = statuses.map(([code, { count }]) => `${count} × ${code}`)
  throw new UnexpectedAnswers(`expected only ${status}, saw ${[...seen, `${errors} failed connections`].join(', ')}`)
}

/** The server sent other responses than the case expects. */
export class UnexpectedAnswers extends Error {}

/** Replaces autocannon's iterator, which takes twice as long and would slow down the load on the fastest server. */
class Endless {
  readonly #next: () => Call
  readonly resetted = false
  currentRequest: { requestBuffer: Buffer }

  constructor(next: () => Call) {
    this.#next = next
    this.currentRequest = { requestBuffer: onTheWire(next()) }
  }

  nextRequest(): void {
    this.currentRequest = { requestBuffer: onTheWire(this.#next()) }
  }

  recordBody(): void {}
}
