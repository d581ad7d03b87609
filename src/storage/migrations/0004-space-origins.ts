/**
 * Which record of which other database a space was imported from. A domain is known again by its name; a space has
 * nothing else that is its own.
 */
import { type Kysely, sql } from 'kysely'

const table = (id: string, text: string, options: string) => `create table space_origins (
  space_id ${id} primary key references spaces (id) on delete cascade,
  account_id ${id} not null references accounts (id),
  source ${text} not null,
  source_id ${id} not null,
  unique (account_id, source, source_id)
)${options}`

export const sqlite = bodyOf([table('integer', 'text', ' strict')])
export const postgres = bodyOf([
  // SQLite has had it from the first: what tells a database from every other.
  'create table instance (database_id text not null)',
  `insert into instance values (replace(gen_random_uuid()::text, '-', ''))`,
  table('bigint', 'text collate "C"', ''),
])

function bodyOf(texts: readonly string[]) {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      for (const text of texts) await sql.raw(text).execute(db)
    },
  }
}
