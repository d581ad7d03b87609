import { Kysely } from 'kysely'
import pg from 'pg'
import { StartupFailure } from '../../errors.ts'
import { migrate } from '../migrate.ts'
import { migrationsOf } from '../migrations/all.ts'
import { MigrationDialect } from './migration-dialect.ts'
import { settingsOf } from './pool.ts'
import { PostgresStorage } from './storage.ts'

const migrations = migrationsOf('postgres')

/** Connects to the database, and migrates it. Throws `StartupFailure` with a sentence when it cannot be used. */
export async function openPostgres(url: string, poolSize: number): Promise<PostgresStorage> {
  const db = new Kysely<never>({
    dialect: new MigrationDialect({
      pool: new pg.Pool({ ...settingsOf(url), max: 1, statement_timeout: 0, query_timeout: 0 }),
    }),
  })
  try {
    await migrate(db, migrations)
  } catch (error) {
    if (error instanceof StartupFailure) throw error
    throw new StartupFailure(`The database cannot be opened: ${(error as Error).message}. Check DATABASE_URL.`)
  } finally {
    await db.destroy()
  }
  return new PostgresStorage(url, poolSize)
}
