import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  SqliteAdapter,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'

/** Kysely's dialect for migrations on an open connection. */
export function migrationDialect(database: DatabaseSync): Dialect {
  return {
    createAdapter: () => new TransactionalAdapter(),
    createDriver: () => new ImmediateDriver(database),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

/**
 * SQLite also rolls back schema changes. Kysely's own adapter does not know that, and would keep half of a failed
 * migration.
 */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

/** Transactions take the write lock at their start. */
class ImmediateDriver extends SqliteDriver {
  readonly #database: DatabaseSync

  constructor(database: DatabaseSync) {
    super({ database: asKyselyExpects(database) })
    this.#database = database
  }

  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'))
  }

  /** Some errors, such as a full disk, end the transaction by themselves. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#database.isTransaction) await super.rollbackTransaction(connection)
  }
}

function asKyselyExpects(database: DatabaseSync) {
  return {
    close: () => undefined,
    prepare: (text: string) => {
      const prepared = database.prepare(text)
      const values = (parameters: readonly unknown[]) => parameters as SQLInputValue[]
      return {
        reader: prepared.columns().length > 0,
        all: (parameters: readonly unknown[]): Record<string, SQLOutputValue>[] => prepared.all(...values(parameters)),
        run: (parameters: readonly unknown[]) => prepared.run(...values(parameters)),
        iterate: (parameters: readonly unknown[]) => prepared.iterate(...values(parameters)),
      }
    },
  }
}
