import { hash } from 'node:crypto'
import { Kysely, PostgresDialect, PostgresQueryCompiler } from 'kysely'
import { type Compiled, compile, type Statement } from '../statement.ts'

/** A statement in PostgreSQL's dialect, and the name under which connections keep it prepared. */
interface Named extends Compiled {
  readonly name: string
}

const known = new WeakMap<Statement<object, unknown>, Named>()

/** The statement, compiled once per process. */
export function compiledOf(declared: Statement<object, unknown>): Named {
  const found = known.get(declared)
  if (found !== undefined) return found
  const { sql, positions } = compile(builder, declared)
  const clause = declared.locks ? ' for update' : declared.returnsId ? ' returning "id"' : ''
  const named = { name: statementName(sql + clause), sql: sql + clause, positions }
  known.set(declared, named)
  return named
}

/**
 * Returns the name under which connections keep a statement prepared. It follows from the text, so a pooler that mixes up
 * the statements of its clients can't run another one.
 */
export function statementName(text: string): string {
  return `w${hash('sha256', text).slice(0, 16)}`
}

const builder = new Kysely<never>({
  dialect: new PostgresDialect({ pool: () => Promise.reject(new Error('This one only compiles.')) }),
})

export const compiler = new PostgresQueryCompiler()
