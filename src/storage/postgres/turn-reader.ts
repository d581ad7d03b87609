import type { ClientBase } from 'pg'
import { isBroken, wasNotPrepared } from './errors.ts'
import type { Connection, Pool } from './pool.ts'
import { Turn } from './turn.ts'

/** No read takes nearly this long, unless it waits for a lock. Milliseconds. */
const patienceMs = 250

interface Read {
  readonly work: (client: ClientBase) => Promise<unknown>
  /** Only the first call of either counts. */
  readonly resolve: (value: unknown) => void
  readonly reject: (reason: unknown) => void
}

/**
 * Short reads. Those of one turn of the event loop go to the server together, over one connection, and each sees what
 * was committed when the server came to it. If one of them takes long, those behind it are sent again over another
 * connection.
 */
export class TurnReader {
  readonly #pool: Pool
  readonly #turn = new Turn<Read>((reads) => void this.#run(reads))

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /**
   * What `work` returns. It shares the connection with other reads, and may be called again. Throws as `Pool.with`
   * does.
   */
  read<T>(work: (client: ClientBase) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#turn.add({ work, resolve: resolve as (value: unknown) => void, reject })
    })
  }

  async #run(reads: readonly Read[]): Promise<void> {
    try {
      await this.#pool.with((client) => this.#readOn(client, reads))
    } catch (error) {
      // Without a connection this is the answer to all of them. Otherwise each has had its own, which stands.
      for (const { reject } of reads) reject(error)
    }
  }

  /** Answers each read as soon as possible. Throws an error that breaks the connection, so that it is replaced. */
  async #readOn(client: Connection, reads: readonly Read[]): Promise<void> {
    const waiting = new Set(reads)
    const patience = setTimeout(() => {
      const [, ...behind] = waiting
      // Each answer starts the timer again: those that were handed on are not to be handed on twice.
      waiting.clear()
      if (behind.length > 0) void this.#run(behind)
    }, patienceMs)
    const answers = client.inOnePacket(() =>
      reads.map(async (read) => {
        const error = await this.#readOne(client, read, reads.length === 1)
        waiting.delete(read)
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
  async #readOne(client: ClientBase, read: Read, isAlone: boolean): Promise<unknown> {
    try {
      read.resolve(await read.work(client))
      return null
    } catch (error) {
      // An earlier read of the packet was to prepare the statement for all of them, and failed.
      if (wasNotPrepared(error) && !isAlone) void this.#run([read])
      else read.reject(error)
      return error
    }
  }
}
