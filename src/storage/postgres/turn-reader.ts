import type { ClientBase } from 'pg'
import { isBroken, wasNotPrepared } from './errors.ts'
import { inOnePacket, Turn } from './one-packet.ts'
import type { Pool } from './pool.ts'

/** No read of a packet takes nearly so long, but for one that waits for a lock. Milliseconds. */
const patienceMs = 250

interface Reading {
  readonly work: (client: ClientBase) => Promise<unknown>
  /** Whoever resolves or rejects first is heard. */
  readonly resolve: (value: unknown) => void
  readonly reject: (reason: unknown) => void
}

/**
 * Reads that take no time each: those that one turn of the event loop asks for go to the server together, over one
 * connection, and are answered one after the other. Each sees what was committed when the server came to it. When one
 * does not get on, those behind it are asked for again over another connection.
 */
export class TurnReader {
  readonly #pool: Pool
  readonly #turn = new Turn<Reading>((readings) => void this.#run(readings))

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** What `work` makes of a connection, on which others read as well; it may be called twice. Throws as `Pool.with` does. */
  read<T>(work: (client: ClientBase) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#turn.add({ work, resolve: resolve as (value: unknown) => void, reject })
    })
  }

  async #run(readings: readonly Reading[]): Promise<void> {
    try {
      await this.#pool.with((client) => this.#readOn(client, readings))
    } catch (error) {
      // For all of them where there was no connection; no more than a repetition where each has heard of its own.
      for (const { reject } of readings) reject(error)
    }
  }

  /** Each hears of its own answer as soon as that is there. Throws one that breaks the connection, so that it is replaced. */
  async #readOn(client: ClientBase, readings: readonly Reading[]): Promise<void> {
    const waiting = new Set(readings)
    const patience = setTimeout(() => {
      const [, ...behind] = waiting
      if (behind.length > 0) void this.#run(behind)
    }, patienceMs)
    const answers = inOnePacket(client, () =>
      readings.map(async (reading) => {
        const error = await this.#readOne(client, reading, readings.length === 1)
        waiting.delete(reading)
        patience.refresh()
        return error
      }),
    )
    const errors = await Promise.all(answers)
    clearTimeout(patience)
    const breaking = errors.find((error) => error !== null && isBroken(error))
    if (breaking !== undefined) throw breaking
  }

  /** Null, or what went wrong. */
  async #readOne(client: ClientBase, reading: Reading, isAlone: boolean): Promise<unknown> {
    try {
      reading.resolve(await reading.work(client))
      return null
    } catch (error) {
      // Another read of the packet, which came first, was to prepare the statement for all of them, and failed.
      if (wasNotPrepared(error) && !isAlone) void this.#run([reading])
      else reading.reject(error)
      return error
    }
  }
}
