import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { FastifyRequest } from 'fastify'
import { Failure } from '../errors.ts'

/** Mean event-loop delay past which requests are turned away, in milliseconds. */
export const mostDelayMs = 250
const sampleEveryMs = 250
const resolutionMs = 10

/**
 * Watches how late the event loop runs. Past the limit, requests are turned away at once: those that are let in stay
 * fast, and those that are not know it before their client gives up.
 */
export class Overload {
  readonly #limitMs: number
  readonly #delays = monitorEventLoopDelay({ resolution: resolutionMs })
  readonly #timer: NodeJS.Timeout
  #isOver = false

  constructor(limitMs = mostDelayMs) {
    this.#limitMs = limitMs
    this.#delays.enable()
    this.#timer = setInterval(() => this.#sample(), sampleEveryMs).unref()
  }

  /** The refusal of a request while the process is overloaded. The health check is never turned away. */
  refusal(request: FastifyRequest): Failure | undefined {
    if (!this.#isOver || request.routeOptions.url === '/health') return undefined
    return new Failure('overloaded', 'The server has more work than it can do in good time.', { retryAfter: 1 })
  }

  close(): void {
    clearInterval(this.#timer)
    this.#delays.disable()
  }

  #sample(): void {
    const delayMs = this.#delays.mean / 1e6 - resolutionMs
    this.#delays.reset()
    this.#isOver = delayMs > this.#limitMs
  }
}
