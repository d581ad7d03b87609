import { tooManyWrites } from '../../errors.ts'
import { groupSizes, Histogram } from '../../histogram.ts'
import type { Meter } from '../port.ts'
import type { Statement } from '../statement.ts'
import { isBroken, translated } from './errors.ts'
import { Gate } from './gate.ts'
import type { Connection, Pool } from './pool.ts'
import { retry } from './retry.ts'
import { run } from './run.ts'
import { Turn } from './turn.ts'

/** A write alone may wait longer for a lock, because it holds up no other. */
const begin = `begin isolation level read committed; set local lock_timeout = '20ms'`
/** How long a write may wait to be run again. Milliseconds. */
const maxWaitMs = 1_500

interface Write {
  readonly statement: Statement<object, unknown>
  readonly params: object
  readonly resolve: (rows: unknown[]) => void
  readonly reject: (reason: unknown) => void
}

/**
 * Writes of one statement each. Those of one turn of the event loop go to the server together: `begin`, the writes and
 * `commit` in one packet, and so one transaction and one flush. Each write is answered for itself.
 */
export class TurnWriter {
  readonly #pool: Pool
  readonly #turn = new Turn<Write>((writes) => void this.#run(writes))
  readonly #alone: Gate
  readonly #sizes = new Histogram(groupSizes)
  #again = 0
  readonly meters: readonly Meter[] = [
    { name: 'write_group_size', help: 'Writes that were sent as one transaction.', value: this.#sizes },
    {
      name: 'writes_run_again',
      help: 'Writes that ran again alone, because one of their group failed or waited for a lock.',
      value: () => this.#again,
    },
  ]

  /** At most `width` writes of failed groups run again at a time. */
  constructor(pool: Pool, width: number) {
    this.#pool = pool
    this.#alone = new Gate(width, maxWaitMs, tooManyWrites)
  }

  /** The rows that the statement returns, once what it wrote is on the disk. Throws as `Pool.with` and `run` do. */
  write<Params extends object, Row>(statement: Statement<Params, Row>, params: Params): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      this.#turn.add({ statement, params, resolve, reject } as unknown as Write)
    })
  }

  async #run(writes: readonly Write[]): Promise<void> {
    this.#sizes.add(writes.length)
    const [first] = writes
    if (writes.length === 1 && first !== undefined) return this.#runAlone(first)
    try {
      if (await this.#pool.with((client) => runTogether(client, writes))) return
    } catch (error) {
      for (const { reject } of writes) reject(error)
      return
    }
    this.#again += writes.length
    for (const write of writes) this.#alone.through(() => this.#runAlone(write)).catch(write.reject)
  }

  async #runAlone({ statement, params, resolve, reject }: Write): Promise<void> {
    try {
      resolve(await retry(() => this.#pool.with((client) => run(client, statement, params))))
    } catch (error) {
      reject(error)
    }
  }
}

/**
 * Runs the writes as one transaction. What becomes of them depends on the answer to `commit` alone:
 *
 * | answer     | because                                                     | kept                    | each write                  |
 * |------------|-------------------------------------------------------------|-------------------------|-----------------------------|
 * | `COMMIT`   | no write failed, or one failed before it was sent           | all that were sent      | has its own answer          |
 * | `COMMIT`   | `begin` failed: each write was a transaction of its own     | those that did not fail | has its own answer          |
 * | `ROLLBACK` | a write failed, or waited for a lock for 20 ms              | none                    | runs again alone            |
 * | an error   | the server refused the commit, for a deferred check         | none                    | runs again alone            |
 * | none       | the connection broke                                        | none, or, if it broke during the commit, unknown | `database_unavailable` |
 * | not asked  | there was no connection                                     | none                    | `database_unavailable`      |
 *
 * True when each write has its answer, false when each is to run again; throws what all of them are to be told. Each
 * row has a test in `turn-writer.test.ts`.
 */
async function runTogether(client: Connection, writes: readonly Write[]): Promise<boolean> {
  const [begun, written, committed] = client.inOnePacket(() => [
    client.query(begin),
    writes.map(({ statement, params }) => run(client, statement, params)),
    client.query('commit'),
  ])
  const [[, commit], answers] = await Promise.all([Promise.allSettled([begun, committed]), Promise.allSettled(written)])
  if (commit.status === 'rejected') {
    const error = translated(commit.reason)
    if (isBroken(error)) throw error
    return false
  }
  if (commit.value.command !== 'COMMIT') return false
  for (const [at, answer] of answers.entries()) {
    const { resolve, reject } = writes[at] as Write
    if (answer.status === 'fulfilled') resolve(answer.value)
    else reject(answer.reason)
  }
  return true
}
