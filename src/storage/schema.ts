/** Queries of both engines. */
import {
  type Compilable,
  type CompiledQuery,
  createQueryId,
  DummyDriver,
  Kysely,
  type OperationNode,
  type OperationNodeSource,
  type RawBuilder,
  type Selectable,
  SqliteAdapter,
  SqliteQueryCompiler,
  sql,
} from 'kysely'
import type { Database, OwnedRecord } from './tables.ts'

/** The values of `click_days.scope`. */
export const clickLevels = { link: 0, domain: 1, space: 2, account: 3 } as const
export type ClickLevel = (typeof clickLevels)[keyof typeof clickLevels]

export type Row<Table extends keyof Database> = Selectable<Database[Table]>

/** A table of records that an account owns. */
export type OwnedTable = {
  [Name in keyof Database]: Database[Name] extends OwnedRecord ? Name : never
}[keyof Database]

/** A query that `Db.execute` runs on either engine. */
export type Query<Row> = Compilable<Row> & OperationNodeSource

/** Builds queries. An engine compiles and runs them. */
export const query = new Kysely<Database>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createIntrospector: () => {
      throw new Error('Queries are run by an engine.')
    },
  },
})

/** Returns whether a query only reads. */
export function isRead({ kind }: OperationNode): boolean {
  return kind === 'SelectQueryNode' || kind === 'RawNode'
}

/**
 * A query that engines compile once for each `shape`, which is all that its text depends on. `build` creates it with these
 * `parameters`, in this order. Only for the most frequent queries: compiling takes a fifth of the time of showing a record.
 */
export class CachedQuery<Row> implements Query<Row> {
  readonly shape: string
  readonly parameters: readonly unknown[]
  readonly #build: () => OperationNodeSource

  constructor(shape: string, parameters: readonly unknown[], build: () => OperationNodeSource) {
    this.shape = shape
    this.parameters = parameters
    this.#build = build
  }

  toOperationNode(): OperationNode {
    return this.#build().toOperationNode()
  }

  /** Compiles for SQLite, as `query` does. Engines use `createCompiler`. */
  compile(): CompiledQuery<Row> {
    return query.getExecutor().compileQuery<Row>(this.toOperationNode() as CompiledQuery['query'], createQueryId())
  }
}

/** Returns an expression with the value of a map for each of these ids. */
export function valueById<Value>(ids: readonly number[], values: ReadonlyMap<number, Value>) {
  // Without a type, PostgreSQL takes parameters of an expression for text.
  const typed = (each: unknown) => (typeof each === 'number' ? sql`cast(${each} as bigint)` : sql`${each}`)
  const cases = ids.map((id) => sql`when ${id} then ${typed(values.get(id))}`)
  return sql<Value>`case id ${sql.join(cases, sql` `)} end`
}

/** Returns these columns, which a conflicting row takes from the row that was not inserted. */
export function excluded<Name extends string>(...columns: readonly Name[]) {
  const values = columns.map((column) => [column, sql.ref(`excluded.${column}`)])
  return Object.fromEntries(values) as Record<Name, RawBuilder<never>>
}
