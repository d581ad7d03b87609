import { type Kysely, sql } from 'kysely'
import { DEFAULT_MIGRATION_TABLE, type Migration, Migrator } from 'kysely/migration'
import { StartupFailure } from '../errors.ts'

type Migrations = Readonly<Record<string, Migration>>

/**
 * Brings the database to this version's schema: forward only, all or nothing. A database that is there already is only
 * read. Transactions of `db` must take the write lock when they begin, so that processes that start at once migrate one
 * after the other. Throws `StartupFailure` when a newer version of Waymark made the database, or a migration failed.
 */
export async function migrate(db: Kysely<never>, migrations: Migrations): Promise<void> {
  if (await isCurrent(db, migrations)) return
  await db.transaction().execute(async (tx) => {
    if (!(await isCurrent(tx, migrations))) await run(tx, migrations)
  })
}

async function isCurrent(db: Kysely<never>, migrations: Migrations): Promise<boolean> {
  const past = await pastMigrations(db)
  if (past.some((name) => !(name in migrations))) {
    throw new StartupFailure(
      'The database was made by a newer version of Waymark. Start that version, or point DATABASE_URL at another database.',
    )
  }
  return past.length === Object.keys(migrations).length
}

async function pastMigrations(db: Kysely<never>): Promise<string[]> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true })
  if (!tables.some(({ name }) => name === DEFAULT_MIGRATION_TABLE)) return []
  const { rows } = await sql<{ name: string }>`select name from ${sql.table(DEFAULT_MIGRATION_TABLE)}`.execute(db)
  return rows.map(({ name }) => name)
}

async function run(tx: Kysely<never>, migrations: Migrations): Promise<void> {
  const migrator = new Migrator({ db: tx, provider: { getMigrations: async () => migrations } })
  const { error, results } = await migrator.migrateToLatest()
  if (error === undefined) return
  const failed = results?.find(({ status }) => status === 'Error')
  const step = failed === undefined ? '' : ` at ${failed.migrationName}`
  const why = error instanceof Error ? error.message : String(error)
  throw new StartupFailure(`The database could not be migrated${step}: ${why}. Nothing was changed.`)
}
