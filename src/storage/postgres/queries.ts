import { hash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { type CompiledQuery, PostgresQueryCompiler } from 'kysely'
import type { ClientBase, PoolClient, QueryConfig, QueryResult } from 'pg'
import { createCompiler } from '../compiler.ts'
import { createTransaction, type Isolation, type Transaction, type Values } from '../port.ts'
import { isSerializationFailure, translated } from './errors.ts'
import type { Pool } from './pool.ts'

export const compiledForPostgres = createCompiler(new PostgresQueryCompiler())

/** A connection keeps its prepared statements until it ends, so rare texts, such as long lists of ids, are not prepared. */
const maxNames = 500
const names = new Map<string, string>()

/** Returns a hash of the text, so that a pooler can't confuse statements; undefined if there are too many names. */
function statementName(text: string): string | undefined {
  const cached = names.get(text)
  if (cached !== undefined || names.size >= maxNames) return cached
  const name = `w${hash('sha256', text).slice(0, 16)}`
  names.set(text, name)
  return name
}

/** The text of a query and the values of its parameters. */
export type SqlText = Pick<CompiledQuery, 'sql' | 'parameters'>

/**
 * Runs a query, and returns its rows. Each connection prepares the query once, unless `isPrepared` is false: then it is
 * planned for its values. Throws translated errors.
 */
export async function execute<Row>(client: ClientBase, query: SqlText, { isPrepared = true } = {}): Promise<Row[]> {
  return (await send(client, toConfig(query, isPrepared))).rows
}

/** Runs a query like `execute`, and returns each row as an array of values. */
export async function executeForValues(client: ClientBase, query: SqlText, isPrepared: boolean): Promise<Values[]> {
  return (await send(client, { ...toConfig(query, isPrepared), rowMode: 'array' })).rows
}

function toConfig({ sql, parameters }: SqlText, isPrepared: boolean): QueryConfig {
  return { text: sql, values: [...parameters], name: isPrepared ? statementName(sql) : undefined }
}

async function send(client: ClientBase, query: QueryConfig & { readonly rowMode?: 'array' }): Promise<QueryResult> {
  try {
    return await client.query(query)
  } catch (error) {
    throw translated(error)
  }
}

const begin: Readonly<Record<Isolation, string>> = {
  default: 'begin',
  serializable: 'begin isolation level serializable',
}

/** See `Db.write`. */
export function transact<T>(pool: Pool, isolation: Isolation, work: (db: Transaction) => Promise<T>): Promise<T> {
  return retry(() => pool.with((client) => transactOn(client, isolation, work)))
}

async function transactOn<T>(
  client: PoolClient,
  isolation: Isolation,
  work: (db: Transaction) => Promise<T>,
): Promise<T> {
  await send(client, { text: begin[isolation] })
  try {
    const result = await work(
      createTransaction(
        (query) => execute(client, compiledForPostgres(query)),
        (table, count) => newIds(client, table, count),
      ),
    )
    // If a statement failed, the server rolls back, even if `work` caught the error.
    const { command } = await send(client, { text: 'commit' })
    if (command !== 'COMMIT') throw new Error('A statement of the transaction had failed.')
    return result
  } catch (error) {
    await send(client, { text: 'rollback' })
    throw error
  }
}

async function newIds(client: ClientBase, table: string, count: number): Promise<number[]> {
  const next = "select nextval(pg_get_serial_sequence($1, 'id')) as id from generate_series(1, $2)"
  return (await execute<{ id: number }>(client, { sql: next, parameters: [table, count] })).map(({ id }) => id)
}

const maxAttempts = 10
/** The longest pause before the second attempt. Later pauses grow with the number of attempts. Milliseconds. */
const pauseMs = 10

/** Runs a transaction again after a serialization failure. Throws the error of the last attempt. */
export async function retry<T>(transaction: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transaction()
    } catch (error) {
      if (attempt === maxAttempts || !isSerializationFailure(error)) throw error
    }
    await wait(Math.random() * pauseMs * attempt)
  }
}
