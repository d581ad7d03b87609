import { DatabaseSync, type SQLInputValue, type StatementResultingChanges, type StatementSync } from 'node:sqlite'
import {
  type CompiledQuery,
  Kysely,
  type OperationNodeSource,
  type SelectModifierNode,
  SqliteDialect,
  SqliteQueryCompiler,
} from 'kysely'
import { LruCache } from '../../lib/lru-cache.ts'
import { Condition } from '../condition.ts'
import { bind, type Compiled, compile, compileQuery, type Statement } from '../statement.ts'
import { translated } from './errors.ts'

/** The number of prepared queries. Queries with a varying number of parameters have many texts. */
const maxPreparedTexts = 1_000

/** Opens a data file. `extra` has further pragmas. */
export function openDatabase(path: string, timeoutMs: number, extra = ''): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: timeoutMs })
  database.exec(`
    pragma journal_mode = wal;
    pragma synchronous = full;
    pragma foreign_keys = on;
    pragma trusted_schema = off;
    pragma temp_store = memory;
    ${extra}
  `)
  return database
}

/** The text of a query and the values of its parameters. */
export type SqlText = Pick<CompiledQuery, 'sql' | 'parameters'>

/** A connection that prepares each query once. All functions are synchronous. */
export class Connection {
  readonly database: DatabaseSync
  readonly #condition: Condition
  readonly #prepared = new Map<Statement<object, unknown>, Prepared>()
  readonly #byText = new LruCache<string, StatementSync>({ maxEntries: maxPreparedTexts })

  /** `condition` gets the errors. */
  constructor(database: DatabaseSync, condition = new Condition()) {
    this.database = database
    this.#condition = condition
  }

  /** Returns all rows of the statement. Throws translated errors. */
  all<Params extends object, Row>(statement: Statement<Params, Row>, params: Params): Row[] {
    return this.run(() => {
      const prepared = this.#prepared.get(statement) ?? this.#prepare(statement)
      const values = bind<SQLInputValue>(prepared.compiled, params)
      if (statement.returnsId) return insertedIds(prepared.handle.run(...values)) as Row[]
      // `get` does not step RETURNING to its end, which would block checkpoints of the WAL.
      return prepared.handle.all(...values) as Row[]
    })
  }

  /** Returns all rows of the query. Throws translated errors. */
  execute<Row>({ sql, parameters }: SqlText): Row[] {
    return this.run(() => this.#preparedText(sql).all(...(parameters as SQLInputValue[])) as Row[])
  }

  /** Returns the result of `work`. Throws translated errors. */
  run<T>(work: (database: DatabaseSync) => T): T {
    try {
      return work(this.database)
    } catch (error) {
      throw this.translated(error)
    }
  }

  /** Converts an error of this connection to a `Failure` if its meaning is known. */
  translated(error: unknown): unknown {
    return this.#condition.noted(translated(error))
  }

  #preparedText(sql: string): StatementSync {
    const known = this.#byText.get(sql)
    if (known !== undefined) return known
    const prepared = this.database.prepare(sql)
    this.#byText.set(sql, prepared)
    return prepared
  }

  #prepare(statement: Statement<object, unknown>): Prepared {
    const compiled = compile(builder, statement)
    const prepared = { compiled, handle: this.database.prepare(compiled.sql) }
    this.#prepared.set(statement, prepared)
    return prepared
  }
}

function insertedIds({ changes, lastInsertRowid }: StatementResultingChanges): { readonly id: number }[] {
  return changes === 0 ? [] : [{ id: Number(lastInsertRowid) }]
}

interface Prepared {
  readonly compiled: Compiled
  readonly handle: StatementSync
}

const builder = new Kysely<never>({
  dialect: new SqliteDialect({ database: () => Promise.reject(new Error('This one only compiles.')) }),
})

const locks: ReadonlySet<string> = new Set(['ForUpdate', 'ForNoKeyUpdate'])

/** Ignores row locks, because SQLite has only one writer at a time. */
class Compiler extends SqliteQueryCompiler {
  protected override visitSelectModifier(node: SelectModifierNode): void {
    if (!locks.has(node.modifier ?? '')) super.visitSelectModifier(node)
  }
}

const compiler = new Compiler()

/** Compiles a query for SQLite. */
export function compiledForSqlite(query: OperationNodeSource): CompiledQuery {
  return compileQuery(compiler, query)
}
