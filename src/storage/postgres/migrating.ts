import { type Kysely, PostgresAdapter, PostgresDialect, sql } from 'kysely'
import { type Migrations, migrate, statesOf } from '../migrate.ts'

/** The lock of Kysely's migrator, so that versions of Waymark that leave locking to Kysely wait too. */
const migratorLock = 3853314791062309107n

/** Kysely for migrations, which `migrateAlone` locks. */
export class MigrationDialect extends PostgresDialect {
  override createAdapter(): PostgresAdapter {
    return new LocklessAdapter()
  }
}

/** Kysely locks in the session, which stays locked on a connection that a pooler shares. */
class LocklessAdapter extends PostgresAdapter {
  override async acquireMigrationLock(): Promise<void> {}
  override async releaseMigrationLock(): Promise<void> {}
}

/**
 * Migrates as `migrate` does, while other processes wait: the lock ends with the transaction. A database that is up to
 * date is not locked.
 */
export async function migrateAlone(db: Kysely<never>, migrations: Migrations, schema: string): Promise<void> {
  if ((await statesOf(db, migrations, schema)).every(({ isApplied }) => isApplied)) return
  await db.transaction().execute(async (transaction) => {
    // A pooler hides the settings of the connection, so limits of the role or the database would apply.
    await sql`set local statement_timeout = 0`.execute(transaction)
    await sql`set local lock_timeout = 0`.execute(transaction)
    await sql`select pg_advisory_xact_lock(${sql.lit(migratorLock)})`.execute(transaction)
    // If the user may not create tables, this fails with the reason. Kysely would only report an aborted transaction.
    await sql`create table waymark_trial ()`.execute(transaction)
    await sql`drop table waymark_trial`.execute(transaction)
    await migrate(transaction, migrations, schema)
  })
}
