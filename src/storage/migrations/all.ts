/**
 * Every migration by its name, in order: for each engine, the texts of its SQL. What was released stays as it is.
 */
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import * as first from './0001-first.ts'
import * as safeRetries from './0002-safe-retries.ts'
import * as requestCounts from './0003-request-counts.ts'
import * as spaceOrigins from './0004-space-origins.ts'
import * as links from './0005-links.ts'
import * as clicks from './0006-clicks.ts'
import * as sessions from './0007-sessions.ts'
import * as deletedLinks from './0008-deleted-links.ts'
import * as statementCounts from './0009-statement-counts.ts'
import * as instanceAddresses from './0010-instance-addresses.ts'

const all: Readonly<Record<string, Readonly<Record<'sqlite' | 'postgres', readonly string[]>>>> = {
  '0001-first': first,
  '0002-safe-retries': safeRetries,
  '0003-request-counts': requestCounts,
  '0004-space-origins': spaceOrigins,
  '0005-links': links,
  '0006-clicks': clicks,
  '0007-sessions': sessions,
  '0008-deleted-links': deletedLinks,
  '0009-statement-counts': statementCounts,
  '0010-instance-addresses': instanceAddresses,
}

/** The migrations of one engine, by name. */
export function migrationsOf(engine: 'sqlite' | 'postgres'): Readonly<Record<string, Migration>> {
  return Object.fromEntries(Object.entries(all).map(([name, texts]) => [name, migrationOf(texts[engine])]))
}

function migrationOf(texts: readonly string[]): Migration {
  return {
    async up(db: Kysely<unknown>) {
      for (const text of texts) await sql.raw(text).execute(db)
    },
  }
}
