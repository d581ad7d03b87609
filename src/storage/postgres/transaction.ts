import type { PoolClient } from 'pg'
import type { Db, Isolation, Listing, Page } from '../port.ts'
import type { Statement } from '../statement.ts'
import { translated } from './errors.ts'
import { listOn } from './lists.ts'
import type { Pool } from './pool.ts'
import { RareParts } from './rare-parts.ts'
import { retry } from './retry.ts'
import { run } from './run.ts'

const begin: Readonly<Record<Isolation, string>> = {
  default: 'begin',
  serializable: 'begin isolation level serializable',
}

/** See `Db.write`. */
export function transact<T>(pool: Pool, isolation: Isolation, work: (db: Db) => Promise<T>): Promise<T> {
  return retry(() => pool.with((client) => transactOn(client, isolation, work)))
}

async function transactOn<T>(client: PoolClient, isolation: Isolation, work: (db: Db) => Promise<T>): Promise<T> {
  await control(client, begin[isolation])
  try {
    const result = await work(new Transaction(client))
    // After a statement that failed, even if `work` caught its error, the server rolls back and says so.
    if ((await control(client, 'commit')) !== 'COMMIT') throw new Error('A statement of the transaction had failed.')
    return result
  } catch (error) {
    await control(client, 'rollback')
    throw error
  }
}

/** Returns what the server did. */
async function control(client: PoolClient, text: string): Promise<string> {
  try {
    return (await client.query(text)).command
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
    return listOn(this.#client, listing, new RareParts())
  }
}
