import { setTimeout as wait } from 'node:timers/promises'
import type { PoolClient } from 'pg'
import type { Db, Isolation, Listing, Page } from '../port.ts'
import type { Statement } from '../statement.ts'
import { translated, wereOthersInTheWay } from './errors.ts'
import { listOn } from './lists.ts'
import { inOnePacket } from './one-packet.ts'
import type { Pool } from './pool.ts'
import { run } from './run.ts'

/** How often a transaction is run while others are in its way. */
const attempts = 10
/** Longest pause before the second run; it grows with each. Milliseconds. */
const pauseMs = 10

const begin: Readonly<Record<Isolation, string>> = {
  default: 'begin',
  serializable: 'begin isolation level serializable',
}

/** See `Db.write`. */
export async function transact<T>(pool: Pool, isolation: Isolation, work: (db: Db) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await pool.with((client) => transactOn(client, isolation, work))
    } catch (error) {
      if (attempt === attempts || !wereOthersInTheWay(error)) throw error
    }
    await wait(Math.random() * pauseMs * attempt)
  }
}

async function transactOn<T>(client: PoolClient, isolation: Isolation, work: (db: Db) => Promise<T>): Promise<T> {
  try {
    const result = await inOnePacket(client, async () => {
      const begun = control(client, begin[isolation])
      // What `work` asks for first goes along, but where the server may refuse: a standby is never serializable.
      if (isolation !== 'default') await begun
      const [done] = await Promise.all([work(new Transaction(client)), begun])
      return done
    })
    await control(client, 'commit')
    return result
  } catch (error) {
    await control(client, 'rollback')
    throw error
  }
}

async function control(client: PoolClient, text: string): Promise<void> {
  try {
    await client.query(text)
  } catch (error) {
    throw translated(error)
  }
}

/** A transaction is a database too, one that reads its own writes. A statement that fails ends it. */
class Transaction implements Db {
  readonly #client: PoolClient

  constructor(client: PoolClient) {
    this.#client = client
  }

  all<Params extends object, Row>(statement: Statement<Params, Row>, params: Params): Promise<Row[]> {
    return run(this.#client, statement, params)
  }

  write<T>(work: (db: Db) => Promise<T>): Promise<T> {
    return work(this)
  }

  writeOne<Params extends object, Row>(statement: Statement<Params, Row>, params: Params): Promise<Row[]> {
    return this.all(statement, params)
  }

  list<Row>(listing: Listing<Row>): Promise<Page<Row>> {
    return listOn(this.#client, listing)
  }
}
