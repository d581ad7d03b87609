import type { Kysely } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import { StartupFailure } from '../errors.ts'

/**
 * Brings the database to this version's schema: forward only, all or nothing.
 * Throws `StartupFailure` when a newer version of Waymark made the database, or when a migration failed.
 */
export async function migrate(db: Kysely<never>, migrations: Record<string, Migration>): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } })
  const { error, results } = await migrator.migrateToLatest()
  if (error === undefined) return
  const failed = results?.find((result) => result.status === 'Error')
  if (failed === undefined && isUnknownMigration(error)) {
    throw new StartupFailure(
      'The database was made by a newer version of Waymark. Start that version, or point DATABASE_URL at another database.',
    )
  }
  const step = failed === undefined ? '' : ` at ${failed.migrationName}`
  throw new StartupFailure(`The database could not be migrated${step}: ${reason(error)}. Nothing was changed.`)
}

/** Kysely refuses a database whose list of past migrations has names that this code does not have. */
function isUnknownMigration(error: unknown): boolean {
  return error instanceof Error && /previously executed migration .* is missing/.test(error.message)
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
