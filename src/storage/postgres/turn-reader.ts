import type { ClientBase } from 'pg'
import { isBroken } from './errors.ts'
import { inOnePacket, Turn } from './one-packet.ts'
import type { Pool } from './pool.ts'

interface Reading {
  readonly work: (client: ClientBase) => Promise<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (reason: unknown) => void
}

/**
 * Reads that take no time each: those that one turn of the event loop asks for go to the server together, over one
 * connection, and are answered one after the other. Each sees what was committed when the server came to it.
 */
export class TurnReader {
  readonly #pool: Pool
  readonly #turn = new Turn<Reading>((readings) => void this.#run(readings))

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** What `work` makes of a connection, on which others read as well. Throws as `Pool.with` does. */
  read<T>(work: (client: ClientBase) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#turn.add({ work, resolve: resolve as (value: unknown) => void, reject })
    })
  }

  async #run(readings: readonly Reading[]): Promise<void> {
    try {
      await this.#pool.with((client) => readOn(client, readings))
    } catch (error) {
      // For all of them where there was no connection; no more than a repetition where each has heard of its own.
      for (const { reject } of readings) reject(error)
    }
  }
}

/** Each hears of its own answer as soon as that is there. Throws one that breaks the connection, so that it is replaced. */
async function readOn(client: ClientBase, readings: readonly Reading[]): Promise<void> {
  const answers = inOnePacket(client, () =>
    readings.map(async ({ work, resolve, reject }) => {
      try {
        resolve(await work(client))
        return null
      } catch (error) {
        reject(error)
        return error
      }
    }),
  )
  const breaking = (await Promise.all(answers)).find((error) => error !== null && isBroken(error))
  if (breaking !== undefined) throw breaking
}
