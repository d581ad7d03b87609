import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'

/** Values by position, or one object of values by name. */
export type Params = readonly SQLInputValue[] | readonly [Readonly<Record<string, SQLInputValue>>]

const preparedOf = new WeakMap<DatabaseSync, Map<string, StatementSync>>()

/**
 * The statement for `sql` on this connection, prepared once and kept; its rows are arrays of values.
 * It takes named parameters that it does not mention, so that statements made of parts may share them.
 * Statements are kept for good, so put values in parameters. Write a limit or an offset as `:limit + 0`: SQLite looks
 * at the value of a bare parameter there, and compiles the statement again each time it is bound.
 */
function prepare(db: DatabaseSync, sql: string): StatementSync {
  const statements = preparedOf.get(db) ?? new Map<string, StatementSync>()
  preparedOf.set(db, statements)
  const known = statements.get(sql)
  if (known !== undefined) return known
  const statement = db.prepare(sql)
  statement.setReturnArrays(true)
  statement.setAllowUnknownNamedParameters(true)
  statements.set(sql, statement)
  return statement
}

/** Runs `sql` to its end; see `prepare`. */
export function query(db: DatabaseSync, sql: string, ...params: Params): SQLOutputValue[][] {
  return prepare(db, sql).all(...(params as SQLInputValue[])) as unknown[] as SQLOutputValue[][]
}
