import type { ClientBase } from 'pg'
import type { Statement } from '../statement.ts'
import { translated } from './errors.ts'
import { inOnePacket, Turn } from './one-packet.ts'
import type { Pool } from './pool.ts'
import { run } from './run.ts'

/** Others that have locked a row are waited for longer by each write alone, where it holds up nobody. */
const begin = `begin; set local lock_timeout = '20ms'`

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

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** The rows that the statement returns, once what it wrote is on the disk. Throws as `Pool.with` and `run` do. */
  write<Params extends object, Row>(statement: Statement<Params, Row>, params: Params): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      const writing = { statement, params, resolve, reject } as unknown as Writing
      this.#turn.add(writing)
    })
  }

  async #run(writings: readonly Writing[]): Promise<void> {
    try {
      const areKept = writings.length > 1 && (await this.#pool.with((client) => writeTogether(client, writings)))
      if (!areKept) for (const writing of writings) void this.#runAlone(writing)
    } catch (error) {
      for (const { reject } of writings) reject(error)
    }
  }

  async #runAlone({ statement, params, resolve, reject }: Writing): Promise<void> {
    try {
      resolve(await this.#pool.with((client) => run(client, statement, params)))
    } catch (error) {
      reject(error)
    }
  }
}

/**
 * Whether all were kept, and each has heard so; if not, none was. Throws `database_unavailable` when that is not known,
 * since the connection broke.
 */
async function writeTogether(client: ClientBase, writings: readonly Writing[]): Promise<boolean> {
  const [begun, written, ended] = inOnePacket(client, () => [
    client.query(begin),
    Promise.all(writings.map(({ statement, params }) => run(client, statement, params))),
    client.query('commit'),
  ])
  written.catch(() => undefined)
  const [, end] = await Promise.all([begun, ended]).catch((error) => {
    throw translated(error)
  })
  // A server that is told to commit after a statement has failed rolls back, and says so.
  if (end.command !== 'COMMIT') return false
  for (const [at, rows] of (await written).entries()) writings[at]?.resolve(rows)
  return true
}
