/** Poolers between this process and PostgreSQL, such as PgBouncer. */
import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import pg, { type ClientBase } from 'pg'
import { StartupFailure } from '../../errors.ts'
import { isMixUp, sharedConnections } from './errors.ts'
import { parseSettings } from './pool.ts'

/**
 * Checks that named prepared statements survive a pooler that moves connections between its connections to the server.
 * Throws `StartupFailure` if they don't. A direct connection costs one query.
 */
export async function checkPooler(client: ClientBase, url: string): Promise<void> {
  if (!(await isPooled(client))) return
  // A unique name, because the pooler may reuse the server's connections after a failed start.
  const name = `waymark_${randomUUID()}`
  const probes = [1, 2].map((value) => new Probe(url, name, value))
  try {
    for (const probe of probes) await probe.connect()
    await moveBetween(probes as [Probe, Probe])
  } catch (error) {
    // Other errors, such as a full pool, concern the probes, or occur again.
    if (error instanceof WrongStatement || isMixUp(error)) throw new StartupFailure(sharedConnections)
  } finally {
    await Promise.all(probes.map((probe) => probe.end()))
  }
}

/** A pooler invents the process id that it sends for the cancellation of queries. */
async function isPooled(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  // The types lack this property of the client.
  return rows[0]?.pid !== (client as { processID?: number }).processID
}

/** The time after which a query waits for the only connection of a pool. Milliseconds. */
const patienceMs = 500
/** Other clients of the pooler may take the connection that would show the mix-up. */
const rounds = 3

/**
 * Runs the statements of both probes so that their transactions get different connections than before, whether the pooler
 * prefers its latest or its oldest free connection, and however many it has. Throws the error of a mix-up.
 */
async function moveBetween([one, other]: readonly [Probe, Probe]): Promise<void> {
  for (const probe of [one, other]) await probe.run()
  for (let round = 0; round < rounds; round++) {
    await one.query('begin')
    const ran = other.run()
    await Promise.race([ran, wait(patienceMs, undefined, { ref: false })])
    await one.query('commit')
    await ran
    await one.run()
  }
}

/** The pooler ran the statement that the other probe prepared. */
class WrongStatement extends Error {}

/** A connection whose named statement returns its own value. */
class Probe {
  readonly #client: pg.Client
  readonly #statement: pg.QueryConfig
  readonly #value: number

  constructor(url: string, name: string, value: number) {
    this.#client = new pg.Client(parseSettings(url))
    this.#client.on('error', () => undefined)
    this.#statement = { name, text: `select ${value} as value` }
    this.#value = value
  }

  connect(): Promise<unknown> {
    return this.#client.connect()
  }

  query(text: string): Promise<unknown> {
    return this.#client.query(text)
  }

  async run(): Promise<void> {
    const { rows } = await this.#client.query<{ value: number }>(this.#statement)
    if (rows[0]?.value !== this.#value) throw new WrongStatement()
  }

  async end(): Promise<void> {
    await this.#client.end()
  }
}
