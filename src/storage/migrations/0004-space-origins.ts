/**
 * Which record of which other database a space was imported from. A domain is known again by its name; a space has
 * nothing else that is its own.
 */

const table = (id: string, text: string, options: string) => `create table space_origins (
  space_id ${id} primary key references spaces (id) on delete cascade,
  account_id ${id} not null references accounts (id),
  source ${text} not null,
  source_id ${id} not null,
  unique (account_id, source, source_id)
)${options}`

export const sqlite = [table('integer', 'text', ' strict')]
export const postgres = [
  // SQLite has had it from the first: what tells a database from every other.
  'create table instance (database_id text not null)',
  `insert into instance values (replace(gen_random_uuid()::text, '-', ''))`,
  table('bigint', 'text collate "C"', ''),
]
