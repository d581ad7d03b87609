/**
 * SQL written once with Kysely, compiled once per engine, and run with new parameters each time: building a query
 * for every request costs more than running it.
 */
import {
  type Compilable,
  type CompiledQuery,
  createQueryId,
  type Kysely,
  type OperationNodeSource,
  type QueryCompiler,
} from 'kysely'

/** Stands for the parameter `name` until the statement is run. */
class Placeholder {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

/** A statement that is ready to be compiled: `Params` are bound by name at each run, `Row` is what it returns. */
export interface Statement<Params extends object, Row> {
  /** Builds the query; each of its parameters is a `Placeholder`. */
  readonly build: (db: Kysely<never>) => Compilable<Row>
  /** Whether the rows it finds stay locked against changes until the transaction ends. */
  readonly locks: boolean
  /** Whether it is an INSERT of one row at most, which returns the row's id; each engine has its own way to tell it. */
  readonly returnsId: boolean
  /** Never set: carries the type of the parameters. */
  readonly params?: Params
}

/** A compiled statement: SQL text and, for each of its positions, the name of a parameter or a constant. */
export interface Compiled {
  readonly sql: string
  readonly positions: readonly unknown[]
}

const placeholders = new Proxy({}, { get: (_, name) => new Placeholder(String(name)) })

/**
 * Declares a statement. `build` receives Kysely over the tables it names, and an object whose every property stands
 * for the parameter of that name. It runs once per engine, so it may not branch on values.
 */
export function statement<Tables, Params extends object, Row>(
  build: (db: Kysely<Tables>, params: Params) => Compilable<Row>,
): Statement<Params, Row> {
  const inDialect = (db: Kysely<never>) => build(db as unknown as Kysely<Tables>, placeholders as Params)
  return { build: inDialect, locks: false, returnsId: false }
}

/**
 * Declares a statement that inserts one row at most, and returns its id. Not by RETURNING, which is a fourth and
 * more of what an INSERT takes on SQLite, where the id is known without.
 */
export function insertion<Tables, Params extends object>(
  build: (db: Kysely<Tables>, params: Params) => Compilable<unknown>,
): Statement<Params, { readonly id: number }> {
  return { ...statement(build as () => Compilable<{ readonly id: number }>), returnsId: true }
}

/**
 * The same statement, to be run in a transaction that goes on to change the rows it finds: from now to the
 * transaction's end they are locked against changes. Without the lock, of two transactions that read a row and write it
 * back, one is lost.
 */
export function toChange<Params extends object, Row>(found: Statement<Params, Row>): Statement<Params, Row> {
  return { ...found, locks: true }
}

/** Compiles a statement in the dialect of `db`. */
export function compile(db: Kysely<never>, declared: Statement<object, unknown>): Compiled {
  const { sql, parameters } = declared.build(db).compile()
  return { sql, positions: parameters }
}

/** The values of a compiled statement's positions, in order. */
export function bind<Value>(compiled: Compiled, params: object): Value[] {
  const named = params as Record<string, Value>
  return compiled.positions.map((position) =>
    position instanceof Placeholder ? (named[position.name] as Value) : (position as Value),
  )
}

/** Compiles a query for the engine of `compiler`. */
export function compileQuery(compiler: QueryCompiler, query: OperationNodeSource): CompiledQuery {
  return compiler.compileQuery(query.toOperationNode() as CompiledQuery['query'], createQueryId())
}
