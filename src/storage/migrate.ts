import { type Kysely, sql } from 'kysely'
import { DEFAULT_MIGRATION_TABLE, type Migration } from 'kysely/migration'
import { StartupFailure } from '../errors.ts'

export type Migrations = Readonly<Record<string, Migration>>

/** One step of the schema, and whether the database has taken it. */
export interface MigrationState {
  readonly name: string
  readonly isApplied: boolean
}

/**
 * Brings the database to this version's schema: forward only, all or nothing. A database that is there already is only
 * read. Transactions of `db` must take the write lock when they begin, so that processes that start at once migrate one
 * after the other. Throws `StartupFailure` when a newer version of Waymark made the database, or a migration failed.
 */
export async function migrate(db: Kysely<never>, migrations: Migrations): Promise<void> {
  if (await isCurrent(db, migrations)) return
  await db.transaction().execute(async (tx) => {
    await run(tx, migrations)
  })
}

/** Every migration in order, and whether it was applied. Only reads. Throws as `migrate` does for a newer database. */
export async function statesOf(db: Kysely<never>, migrations: Migrations): Promise<MigrationState[]> {
  const past = new Set(await pastMigrations(db))
  const states = statesBefore(migrations).map(({ name }) => ({ name, isApplied: past.delete(name) }))
  if (past.size === 0) return states
  throw new StartupFailure(
    'The database was made by a newer version of Waymark. Start that version, or point DATABASE_URL at another database.',
  )
}

/** The states where there is no database yet. */
export function statesBefore(migrations: Migrations): MigrationState[] {
  return Object.keys(migrations)
    .sort()
    .map((name) => ({ name, isApplied: false }))
}

async function isCurrent(db: Kysely<never>, migrations: Migrations): Promise<boolean> {
  return (await statesOf(db, migrations)).every(({ isApplied }) => isApplied)
}

async function pastMigrations(db: Kysely<never>): Promise<string[]> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true })
  if (!tables.some(({ name }) => name === DEFAULT_MIGRATION_TABLE)) return []
  const { rows } = await sql<{ name: string }>`select name from ${table}`.execute(db)
  return rows.map(({ name }) => name)
}

async function run(tx: Kysely<never>, migrations: Migrations): Promise<void> {
  let step = ''
  try {
    await makeTable(tx)
    for (const { name, isApplied } of await statesOf(tx, migrations)) {
      if (isApplied) continue
      step = ` at ${name}`
      await migrations[name]?.up(tx)
      await sql`insert into ${table} values (${name}, ${new Date().toISOString()})`.execute(tx)
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new StartupFailure(`The database could not be migrated${step}: ${why}. Nothing was changed.`, {
      cause: error,
    })
  }
}

/** As Kysely's own migrator makes it, which made those of the first databases. */
async function makeTable(tx: Kysely<never>): Promise<void> {
  await tx.schema
    .createTable(DEFAULT_MIGRATION_TABLE)
    .ifNotExists()
    .addColumn('name', 'varchar(255)', (column) => column.notNull().primaryKey())
    .addColumn('timestamp', 'varchar(255)', (column) => column.notNull())
    .execute()
}

const table = sql.table(DEFAULT_MIGRATION_TABLE)
