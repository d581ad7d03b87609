import { Kysely, PostgresDialect } from 'kysely'
import { type Compiled, compile, type Statement } from '../statement.ts'

/** A statement in PostgreSQL's dialect, and the name under which connections keep it prepared. */
interface Named extends Compiled {
  readonly name: string
}

const known = new WeakMap<Statement<object, unknown>, Named>()
let names = 0

/** The statement, compiled once per process. */
export function compiledOf(declared: Statement<object, unknown>): Named {
  const found = known.get(declared)
  if (found !== undefined) return found
  const { sql, positions } = compile(builder, declared)
  const clause = declared.locks ? ' for update' : declared.returnsId ? ' returning "id"' : ''
  const named = { name: newName(), sql: sql + clause, positions }
  known.set(declared, named)
  return named
}

/** A name that no other statement of this process has. */
export function newName(): string {
  names += 1
  return `w${names}`
}

const builder = new Kysely<never>({
  dialect: new PostgresDialect({ pool: () => Promise.reject(new Error('This one only compiles.')) }),
})
