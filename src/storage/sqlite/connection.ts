import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite'
import type { CompiledQuery } from 'kysely'
import { type DatabaseTrouble, databaseUnavailable, ForeignKeyViolation, UniqueViolation } from '../../errors.ts'
import { LruCache } from '../../lib/lru-cache.ts'
import { Condition } from '../condition.ts'

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
    pragma secure_delete = on;
    ${extra}
  `)
  return database
}

/** The text of a query and the values of its parameters. */
export type SqlText = Pick<CompiledQuery, 'sql' | 'parameters'>

interface Prepared {
  readonly statement: StatementSync
  readonly columns: readonly string[]
}

/** A connection that prepares each query once. All functions are synchronous. */
export class Connection {
  readonly database: DatabaseSync
  readonly #condition: Condition
  readonly #prepared = new LruCache<string, Prepared>(maxPreparedTexts)

  /** `condition` gets the errors. */
  constructor(database: DatabaseSync, condition = new Condition()) {
    this.database = database
    this.#condition = condition
  }

  /** Returns all rows of the query. Throws translated errors. */
  execute<Row>({ sql, parameters }: SqlText): Row[] {
    return this.run(() => {
      const { statement, columns } = this.#prepare(sql)
      return readValues(statement, parameters).map((values) => {
        const row: Record<string, SQLOutputValue | undefined> = {}
        for (let at = 0; at < columns.length; at++) row[columns[at] as string] = values[at]
        return row as Row
      })
    })
  }

  /** Returns the values of all found rows. Throws translated errors. */
  executeForValues({ sql, parameters }: SqlText): SQLOutputValue[][] {
    return this.run(() => readValues(this.#prepare(sql).statement, parameters))
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

  #prepare(sql: string): Prepared {
    const cached = this.#prepared.get(sql)
    if (cached !== undefined) return cached
    const statement = this.database.prepare(sql)
    statement.setReturnArrays(true)
    const prepared = { statement, columns: statement.columns().map(({ name }) => name) }
    this.#prepared.set(sql, prepared)
    return prepared
  }
}

/** Arrays, because V8 handles the row objects of `node:sqlite` slowly: they cost a list a tenth of its time. */
function readValues(statement: StatementSync, parameters: readonly unknown[]): SQLOutputValue[][] {
  // `get` does not step RETURNING to its end, which would block checkpoints of the WAL. `run` reads the rowid of the last
  // insertion, and throws after FTS5 has written one above 2^53.
  return statement.all(...(parameters as SQLInputValue[])) as unknown as SQLOutputValue[][]
}

/** A lock that this process holds. */
export interface FileLock {
  release(): void
}

/** Locks and creates the file, until the release or the end of the process. Returns null if it is locked already. */
export function lockFile(path: string): FileLock | null {
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    // Without a journal file.
    database.exec('pragma journal_mode = memory; begin exclusive')
    return { release: () => database.close() }
  } catch (error) {
    database.close()
    if (isBusy(error)) return null
    throw error
  }
}

/** Primary result codes of SQLite that mean that the database is unavailable, not that the program is wrong. */
export const resultCodes = {
  permission: 3,
  busy: 5,
  locked: 6,
  noMemory: 7,
  readOnly: 8,
  inputOutput: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  protocol: 15,
  noLargeFiles: 22,
  notADatabase: 26,
} as const

const unavailable: ReadonlySet<number> = new Set(Object.values(resultCodes))

/** SQLITE_IOERR_WRITE: the system rejected a write, because of a quota or a file size limit. */
const writeError = 778
/** SQLITE_CONSTRAINT_UNIQUE. */
const notUnique = 2067

/** Converts an engine error to `database_unavailable`, `ForeignKeyViolation` or `UniqueViolation`, or returns it unchanged. */
function translated(error: unknown): unknown {
  // The extended code is a different one for `on delete restrict`.
  if (error instanceof Error && error.message === 'FOREIGN KEY constraint failed') {
    return new ForeignKeyViolation(null, error)
  }
  if (extendedCode(error) === notUnique) return new UniqueViolation(error)
  return unavailable.has(resultCode(error)) ? databaseUnavailable(error, findTrouble(error)) : error
}

/** Returns what is wrong with the database file or its disk; undefined if the error is about something else. */
export function findTrouble(error: unknown): DatabaseTrouble | undefined {
  const code = resultCode(error)
  if (code === resultCodes.corrupt || code === resultCodes.notADatabase) return 'database_corrupt'
  return code === resultCodes.full || extendedCode(error) === writeError ? 'disk_full' : undefined
}

export function isBusy(error: unknown): boolean {
  return resultCode(error) === resultCodes.busy
}

/** Returns the primary result code of an SQLite error; 0 for other errors. */
export function resultCode(error: unknown): number {
  return extendedCode(error) & 0xff
}

function extendedCode(error: unknown): number {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0
}
