import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite'
import { Kysely, SqliteAdapter, SqliteDialect, sql } from 'kysely'
import { StartupFailure } from '../../errors.ts'
import { migrate } from '../migrate.ts'
import { sqlite as first } from '../migrations/0001-first.ts'
import { openDatabase } from './connection.ts'
import { SqliteStorage } from './storage.ts'

const migrations = { '0001-first': first }

/** How long a start waits for another process that is migrating or writing. */
const migrationTimeoutMs = 10_000

/**
 * Opens the database file at `path`, making it and its folder where they are missing, and migrates it.
 * Throws `StartupFailure` when the file cannot be used.
 */
export async function openSqlite(path: string): Promise<SqliteStorage> {
  try {
    mkdirSync(dirname(path), { recursive: true })
    await migrateFile(path)
    return new SqliteStorage(path)
  } catch (error) {
    if (error instanceof StartupFailure) throw error
    const why = error instanceof Error ? error.message : String(error)
    throw new StartupFailure(
      `The database ${path} cannot be opened: ${why}. Check that the folder exists and is writable, or set DATABASE_URL.`,
    )
  }
}

async function migrateFile(path: string): Promise<void> {
  const database = openDatabase(path, migrationTimeoutMs)
  try {
    refuseStranger(database, path)
    await migrate(new Kysely<never>({ dialect: new MigrationDialect({ database: asKyselyExpects(database) }) }), migrations)
  } finally {
    database.close()
  }
}

/** A file that another program made must not be migrated into. */
function refuseStranger(database: DatabaseSync, path: string): void {
  const tables = database.prepare(`select name from sqlite_schema where type = 'table'`).all()
  const isOurs = tables.length === 0 || tables.some(({ name }) => String(name).startsWith('kysely_migration'))
  if (!isOurs) {
    throw new StartupFailure(`The file ${path} is a database of another program. Point DATABASE_URL at another file.`)
  }
}

/** SQLite's DDL is transactional, which Kysely does not rely on by itself: a migration that fails leaves nothing. */
class MigrationDialect extends SqliteDialect {
  override createAdapter(): SqliteAdapter {
    return new (class extends SqliteAdapter {
      override get supportsTransactionalDdl(): boolean {
        return true
      }

      /** Takes the write lock before anything is read, so that processes that start at once migrate one by one. */
      override async acquireMigrationLock(db: Kysely<unknown>): Promise<void> {
        await sql`update kysely_migration_lock set is_locked = 0`.execute(db)
      }
    })()
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
