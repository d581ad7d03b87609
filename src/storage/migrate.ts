import { type Kysely, sql } from 'kysely'
import { DEFAULT_MIGRATION_TABLE, type Migration, Migrator } from 'kysely/migration'
import { StartupFailure } from '../errors.ts'

export type Migrations = Readonly<Record<string, Migration>>

export interface MigrationState {
  readonly name: string
  readonly isApplied: boolean
}

/** Applies pending migrations, in a transaction of the caller. Throws `StartupFailure` if one fails. */
export async function migrate(db: Kysely<never>, migrations: Migrations, schema?: string): Promise<void> {
  const provider = { getMigrations: async () => migrations }
  const migrationTableSchema = schema === undefined ? {} : { migrationTableSchema: schema }
  const { error, results } = await new Migrator({ db, provider, ...migrationTableSchema }).migrateToLatest()
  if (error === undefined) return
  const failed = results?.find(({ status }) => status === 'Error')
  const where = failed === undefined ? '' : ` at ${failed.migrationName}`
  const why = error instanceof Error ? error.message : String(error)
  throw new StartupFailure(`Can't migrate the database${where}: ${why}. Nothing was changed.`, { cause: error })
}

/** Returns all migrations in order. Throws `StartupFailure` for a database of a newer or development version. */
export async function statesOf(db: Kysely<never>, migrations: Migrations, schema?: string): Promise<MigrationState[]> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true })
  const isMigrated = tables.some((table) => table.name === DEFAULT_MIGRATION_TABLE && table.schema === schema)
  if (!isMigrated) return statesBefore(migrations)
  const { rows } = await sql<{ name: string }>`select name from ${sql.table(DEFAULT_MIGRATION_TABLE)}`.execute(db)
  const applied = new Set(rows.map(({ name }) => name))
  if (isFromDevelopment(applied, migrations)) {
    throw new StartupFailure(
      `The database was created by a development version of Waymark. Nothing was changed. ${wayOutOfDevelopment}`,
    )
  }
  if ([...applied].some((name) => !(name in migrations))) {
    throw new StartupFailure(
      'The database was created by a newer version of Waymark. Start that version, or set DATABASE_URL to another database.',
    )
  }
  return statesBefore(migrations).map(({ name }) => ({ name, isApplied: applied.has(name) }))
}

/** Returns the states of migrations for a missing database. */
export function statesBefore(migrations: Migrations): MigrationState[] {
  return Object.keys(migrations)
    .sort()
    .map((name) => ({ name, isApplied: false }))
}

/** Returns whether the first applied migration is unknown. Releases never rename it, but commits before them did. */
export function isFromDevelopment(applied: ReadonlySet<string>, migrations: Migrations): boolean {
  const [first] = [...applied].sort()
  return first !== undefined && !(first in migrations)
}

/** How to keep the records of a database from before the first release. */
export const wayOutOfDevelopment =
  'To keep its data, run "npx waymark export FILE" with the commit that created it, set DATABASE_URL to a new database, start the server once, and run "npx waymark import FILE".'
