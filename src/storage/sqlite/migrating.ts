import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { Kysely, SqliteDialect } from 'kysely'
import { type MigrationState, type Migrations, migrate, statesOf } from '../migrate.ts'

/** Returns the migrations of the database. Only reads. Throws `StartupFailure`. */
export function statesOfSqlite(database: DatabaseSync, migrations: Migrations): Promise<MigrationState[]> {
  return statesOf(kyselyOf(database), migrations)
}

/** Migrates in one transaction, unless up to date. Throws `StartupFailure`, or SQLite's error if the file is locked. */
export async function migrateSqlite(database: DatabaseSync, migrations: Migrations): Promise<void> {
  if ((await statesOfSqlite(database, migrations)).every(({ isApplied }) => isApplied)) return
  database.exec('begin immediate')
  try {
    await migrate(kyselyOf(database), migrations)
    database.exec('commit')
  } catch (error) {
    // Some errors, such as a full disk, have ended the transaction.
    if (database.isTransaction) database.exec('rollback')
    throw error
  }
}

/** Kysely does not know that SQLite can roll back changes to the schema, so its migrator starts no transaction. */
function kyselyOf(database: DatabaseSync): Kysely<never> {
  const prepare = (text: string) => {
    const statement = database.prepare(text)
    const values = (parameters: readonly unknown[]) => parameters as SQLInputValue[]
    return {
      reader: statement.columns().length > 0,
      all: (parameters: readonly unknown[]) => statement.all(...values(parameters)),
      run: (parameters: readonly unknown[]) => statement.run(...values(parameters)),
      iterate: (parameters: readonly unknown[]) => statement.iterate(...values(parameters)),
    }
  }
  return new Kysely({ dialect: new SqliteDialect({ database: { close: () => database.close(), prepare } }) })
}
