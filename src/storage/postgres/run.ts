import type { CompiledQuery } from 'kysely'
import type { ClientBase } from 'pg'
import { statementName } from './compiled.ts'
import { translated } from './errors.ts'

/** Runs a query, which each connection prepares once. Throws translated errors. */
export async function execute<Row>(client: ClientBase, { sql, parameters }: CompiledQuery): Promise<Row[]> {
  try {
    const name = statementName(sql)
    const query = { text: sql, values: [...parameters], ...(name !== undefined && { name }) }
    const { rows } = await client.query(query)
    return rows
  } catch (error) {
    throw translated(error)
  }
}

/** Runs a query that is planned for its values. Throws translated errors. */
export async function executeOnce<Row>(client: ClientBase, { sql, parameters }: CompiledQuery): Promise<Row[]> {
  try {
    const { rows } = await client.query({ text: sql, values: [...parameters] })
    return rows
  } catch (error) {
    throw translated(error)
  }
}

/**
 * Runs SQL with values by position. Rows are arrays. With a name, the statement stays prepared. Throws translated errors.
 */
export async function runText(
  client: ClientBase,
  text: string,
  values: unknown[],
  name?: string,
): Promise<unknown[][]> {
  const query = { text, values, rowMode: 'array' as const, ...(name !== undefined && { name }) }
  try {
    const { rows } = await client.query(query)
    return rows
  } catch (error) {
    throw translated(error)
  }
}
