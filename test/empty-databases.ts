/** Databases without tables, on both engines. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import type { Migrations } from '../src/storage/migrate.ts'
import type { StorageLocation } from '../src/storage/port.ts'
import { atDatabase, migratePostgres } from '../src/storage/postgres/open.ts'
import { migrateSqlite } from '../src/storage/sqlite/open.ts'
import { execute } from './postgres.ts'
import { newDatabase } from './postgres-database.ts'
import { newFolder } from './processes.ts'

/** An empty database. */
export interface EmptyDatabase {
  readonly location: StorageLocation
  migrate(migrations: Migrations): Promise<void>
  query(text: string): Promise<unknown[]>
  /** Returns the tables, except the migrator's. */
  tables(): Promise<unknown[]>
}

export function onSqlite(t: TestContext): EmptyDatabase {
  const path = join(newFolder(t), 'test.db')
  const database = new DatabaseSync(path)
  t.after(() => database.close())
  const query = async (text: string) => database.prepare(text).all()
  return {
    location: { engine: 'sqlite', path },
    migrate: (migrations) => migrateSqlite(database, migrations),
    query,
    tables: () => query(`select name from sqlite_schema where tbl_name not like 'kysely_migration%'`),
  }
}

export async function onPostgres(t: TestContext): Promise<EmptyDatabase> {
  const { url, drop } = await newDatabase(false)
  t.after(drop)
  return {
    location: { engine: 'postgres', url, pool: 1 },
    migrate: (migrations) => atDatabase(url, (db) => migratePostgres(db, migrations)),
    query: (text) => execute(url, text),
    tables: () =>
      execute(
        url,
        `select tablename from pg_tables where schemaname = 'public' and tablename not like 'kysely_migration%'`,
      ),
  }
}
