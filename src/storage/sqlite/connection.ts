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

/** Queries whose number of parameters varies have many texts; the oldest are prepared again when they return. */
const maxPreparedTexts = 1_000

/** What every connection to a data file is opened with; `extra` is added by the connection's own purpose. */
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

/** One connection: its statements are compiled and prepared once and kept. Everything here is synchronous. */
export class Connection {
  readonly database: DatabaseSync
  readonly #condition: Condition
  readonly #prepared = new Map<Statement<object, unknown>, Prepared>()
  readonly #byText = new LruCache<string, StatementSync>({ maxEntries: maxPreparedTexts })

  /** `condition` hears of what goes wrong. */
  constructor(database: DatabaseSync, condition = new Condition()) {
    this.database = database
    this.#condition = condition
  }

  /** Runs the statement to its end and returns its rows. Throws what `translated` makes of the engine's error. */
  all<Params extends object, Row>(statement: Statement<Params, Row>, params: Params): Row[] {
    return this.run(() => {
      const prepared = this.#prepared.get(statement) ?? this.#prepare(statement)
      const values = bind<SQLInputValue>(prepared.compiled, params)
      if (statement.returnsId) return insertedIds(prepared.handle.run(...values)) as Row[]
      // `all`, never `get`: a RETURNING that is not stepped to its end keeps the WAL from being checkpointed.
      return prepared.handle.all(...values) as Row[]
    })
  }

  /** Runs the query to its end and returns its rows. Throws what `translated` makes of the engine's error. */
  execute<Row>({ sql, parameters }: SqlText): Row[] {
    return this.run(() => this.#preparedText(sql).all(...(parameters as SQLInputValue[])) as Row[])
  }

  /** What `work` returns. Throws what `translated` makes of the engine's error. */
  run<T>(work: (database: DatabaseSync) => T): T {
    try {
      return work(this.database)
    } catch (error) {
      throw this.translated(error)
    }
  }

  /** The domain's words for an error of this connection. */
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

/** SQLite has one writer at a time, so it needs no locks of rows. */
class Compiler extends SqliteQueryCompiler {
  protected override visitSelectModifier(node: SelectModifierNode): void {
    if (node.modifier !== 'ForUpdate') super.visitSelectModifier(node)
  }
}

const compiler = new Compiler()

/** Compiles a query for SQLite. */
export function compiledForSqlite(query: OperationNodeSource): CompiledQuery {
  return compileQuery(compiler, query)
}
