/**
 * Every migration by its name, in order, with a body for each engine. A name that was released stays as it is.
 */
import type { Migration } from 'kysely/migration'
import * as first from './0001-first.ts'
import * as safeRetries from './0002-safe-retries.ts'
import * as requestCounts from './0003-request-counts.ts'
import * as spaceOrigins from './0004-space-origins.ts'

const all: Readonly<Record<string, Readonly<Record<'sqlite' | 'postgres', Migration>>>> = {
  '0001-first': first,
  '0002-safe-retries': safeRetries,
  '0003-request-counts': requestCounts,
  '0004-space-origins': spaceOrigins,
}

/** The migrations of one engine, by name. */
export function migrationsOf(engine: 'sqlite' | 'postgres'): Readonly<Record<string, Migration>> {
  return Object.fromEntries(Object.entries(all).map(([name, bodies]) => [name, bodies[engine]]))
}
