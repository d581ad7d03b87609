/**
 * Every migration by its name, in order: for each engine, the texts of its SQL. Released migrations never change.
 */
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import * as accounts from './accounts.ts'
import * as clicks from './clicks.ts'
import * as records from './records.ts'
import * as search from './search.ts'

type Engine = 'sqlite' | 'postgres'
type Texts = Readonly<Record<Engine, readonly string[]>>

const all: Readonly<Record<string, readonly Texts[]>> = {
  '0001-tables': [accounts, records, clicks, search],
}

/** The migrations of one engine, by name. */
export function migrationsOf(engine: Engine): Readonly<Record<string, Migration>> {
  return Object.fromEntries(Object.entries(all).map(([name, parts]) => [name, migrationOf(parts, engine)]))
}

function migrationOf(parts: readonly Texts[], engine: Engine): Migration {
  return {
    async up(db: Kysely<unknown>) {
      for (const text of parts.flatMap((part) => part[engine])) await sql.raw(text).execute(db)
    },
  }
}
