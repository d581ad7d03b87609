import { StartupFailure } from '../errors.ts'

/** The steps of each migration. They are applied in the order of their names. */
export type Migrations = Readonly<Record<string, readonly MigrationStep[]>>

/** A statement, or work that no statement can do. */
export type MigrationStep = string | ((db: MigrationDb) => Promise<void>)

export interface MigrationState {
  readonly name: string
  readonly isApplied: boolean
}

/** A connection that runs one statement after the other. */
export interface MigrationDb {
  run(statement: string): Promise<readonly object[]>
  hasTable(name: string): Promise<boolean>
}

/** Kysely's migrator created it in earlier versions. */
const table = 'kysely_migration'

/** Applies pending migrations, in a transaction of the caller. Throws `StartupFailure` if one fails. */
export async function migrate(db: MigrationDb, migrations: Migrations): Promise<void> {
  const columns = 'name varchar(255) not null primary key, timestamp varchar(255) not null'
  await db.run(`create table if not exists ${table} (${columns})`)
  for (const { name } of (await readStates(db, migrations)).filter(({ isApplied }) => !isApplied)) {
    try {
      for (const step of migrations[name] as readonly MigrationStep[]) {
        await (typeof step === 'string' ? db.run(step) : step(db))
      }
      await db.run(`insert into ${table} values ('${name}', '${new Date().toISOString()}')`)
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      throw new StartupFailure(`Can't migrate the database at ${name}: ${why}. Nothing was changed.`, { cause: error })
    }
  }
}

/** Returns all migrations in order. Throws `StartupFailure` for a database of a newer or development version. */
export async function readStates(db: MigrationDb, migrations: Migrations): Promise<MigrationState[]> {
  if (!(await db.hasTable(table))) return statesBefore(migrations)
  const rows = (await db.run(`select name from ${table}`)) as readonly { readonly name: string }[]
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
