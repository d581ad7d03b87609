import autocannon, { type Result } from 'autocannon'
import { type Call, onTheWire } from './call.ts'

/** What one run of the load generator saw. */
export interface Load {
  /** Requests that were sent, and those that were answered before the time was over. */
  readonly sent: number
  readonly answered: number
  readonly seconds: number
  /** Milliseconds of each answer, ascending. */
  readonly latencies: Float64Array
}

export interface LoadOptions {
  /** Of the servers, all of which answer alike; their number divides that of the connections. */
  readonly ports: readonly number[]
  readonly seconds: number
  /** The status that every answer must have. */
  readonly status: number
  readonly next: () => Call
  /** Ends the run early after so many requests. */
  readonly most?: number | undefined
}

export const connections = 32
/** Long past what any answer takes: whoever is not answered by then never will be. */
const timeoutSeconds = 60
const lookMs = 20

/**
 * Sends requests over 32 connections, shared out among the ports, the next one on each as soon as the last is answered.
 * Throws `UnexpectedAnswers`.
 */
export async function drive({ ports, seconds, status, next, most }: LoadOptions): Promise<Load> {
  const latencies: number[] = []
  const start = performance.now()
  let last = start
  const results = await Promise.all(
    ports.map((port) => {
      const run = autocannon({
        url: `http://127.0.0.1:${port}`,
        connections: connections / ports.length,
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
  throw new UnexpectedAnswers(`expected ${status} alone, saw ${[...seen, `${errors} failed connections`].join(', ')}`)
}

/** The run measured something else than it says. */
export class UnexpectedAnswers extends Error {}

/**
 * In place of autocannon's own iterator, which takes twice as long to make a request: a generator that is slower than
 * what it measures flatters whoever is compared with the fastest.
 */
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
