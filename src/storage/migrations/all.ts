import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { accountTables } from './accounts.ts'
import { clickTables } from './clicks.ts'
import { type Dialect, postgres, sqlite } from './dialect.ts'
import { recordTables } from './records.ts'
import { searchIndexes } from './search.ts'

/** The SQL of each migration. Released migrations never change. */
const all: Readonly<Record<string, (dialect: Dialect) => string[]>> = {
  '0001-foundation': (dialect) =>
    [accountTables, recordTables, clickTables, searchIndexes].flatMap((part) => part(dialect)),
}

/** Returns the migrations for one engine, by name. */
export function migrationsOf(engine: Dialect['engine']): Readonly<Record<string, Migration>> {
  const dialect = engine === 'sqlite' ? sqlite : postgres
  return Object.fromEntries(
    Object.entries(all).map(([name, texts]) => {
      const up = async (db: Kysely<unknown>) => {
        for (const text of texts(dialect)) await sql.raw(text).execute(db)
      }
      return [name, { up }]
    }),
  )
}
