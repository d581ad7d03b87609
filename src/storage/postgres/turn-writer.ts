import type { ClientBase } from 'pg'
import { overloaded } from '../../errors.ts'
import { groupSizes, Histogram } from '../../histogram.ts'
import type { Meter } from '../port.ts'
import type { Statement } from '../statement.ts'
import { isBroken, translated } from './errors.ts'
import { Gate } from './gate.ts'
import { inOnePacket, Turn } from './one-packet.ts'
import type { Pool } from './pool.ts'
import { run } from './run.ts'
import { untilDone } from './until-done.ts'

/** Others that have locked a row are waited for longer by each write alone, where it holds up nobody. */
const begin = `begin isolation level read committed; set local lock_timeout = '20ms'`
/** A write that runs alone waits so long at most for its turn. Milliseconds. */
const longestWaitMs = 1_500

interface Writing {
  readonly statement: Statement<object, unknown>
  readonly params: object
  readonly resolve: (rows: unknown[]) => void
  readonly reject: (reason: unknown) => void
}

/**
 * Writes of one statement each: those of one turn of the event loop go to the server together and share a transaction,
 * and so a flush. When one of them fails nothing is kept, and each is run again alone: so none fails for another.
 */
export class TurnWriter {
  readonly #pool: Pool
  readonly #turn = new Turn<Writing>((writings) => void this.#run(writings))
  readonly #alone: Gate
  readonly #sizes = new Histogram(groupSizes)
  #again = 0
  readonly meters: readonly Meter[] = [
    { name: 'write_group_size', help: 'Writes that were sent as one transaction.', value: this.#sizes },
    {
      name: 'writes_run_again',
      help: 'Writes that ran again alone, since one of their group failed or waited for a lock.',
      value: () => this.#again,
    },
  ]

  /** At most `width` writes run alone at a time. */
  constructor(pool: Pool, width: number) {
    this.#pool = pool
    this.#alone = new Gate(width, longestWaitMs, () => overloaded('Too many writes are waiting. Try again shortly.'))
  }

  /** The rows that the statement returns, once what it wrote is on the disk. Throws as `Pool.with` and `run` do. */
  write<Params extends object, Row>(statement: Statement<Params, Row>, params: Params): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      const writing = { statement, params, resolve, reject } as unknown as Writing
      this.#turn.add(writing)
    })
  }

  async #run(writings: readonly Writing[]): Promise<void> {
    this.#sizes.add(writings.length)
    const [only] = writings
    if (writings.length === 1 && only !== undefined) return this.#runAlone(only)
    try {
      if (await this.#pool.with((client) => writeTogether(client, writings))) return
    } catch (error) {
      for (const { reject } of writings) reject(error)
      return
    }
    this.#again += writings.length
    for (const writing of writings) void this.#alone.through(() => this.#runAlone(writing)).catch(writing.reject)
  }

  async #runAlone({ statement, params, resolve, reject }: Writing): Promise<void> {
    try {
      resolve(await untilDone(() => this.#pool.with((client) => run(client, statement, params))))
    } catch (error) {
      reject(error)
    }
  }
}

/**
 * Whether each has heard what became of it; if not, none was kept. Throws `database_unavailable` when that is not known,
 * since the connection broke.
 */
async function writeTogether(client: ClientBase, writings: readonly Writing[]): Promise<boolean> {
  const [begun, written, ended] = inOnePacket(client, () => [
    client.query(begin),
    writings.map(({ statement, params }) => run(client, statement, params)),
    client.query('commit'),
  ])
  const [[beginning, end], outcomes] = await Promise.all([
    Promise.allSettled([begun, ended]),
    Promise.allSettled(written),
  ])
  if (end.status === 'rejected') {
    const error = translated(end.reason)
    if (isBroken(error)) throw error
    return false
  }
  // A server that is told to commit after a statement has failed rolls back, and says so. Without a beginning there was
  // nothing to roll back: each statement stood for itself.
  if (end.value.command !== 'COMMIT' && beginning.status === 'fulfilled') return false
  for (const [at, outcome] of outcomes.entries()) settle(writings[at] as Writing, outcome)
  return true
}

function settle({ resolve, reject }: Writing, outcome: PromiseSettledResult<unknown[]>): void {
  if (outcome.status === 'fulfilled') resolve(outcome.value)
  else reject(outcome.reason)
}
