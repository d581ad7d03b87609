import type { Dialect } from './dialect.ts'

/** Returns the tables for the instance, accounts, keys, sessions and requests. Secrets are stored as hashes. */
export function accountTables({ engine, id, integer, bytes, text, end, keyedEnd }: Dialect): string[] {
  const isSqlite = engine === 'sqlite'
  const newId = isSqlite ? 'lower(hex(randomblob(16)))' : `replace(gen_random_uuid()::text, '-', '')`
  const tables = [
    // `short_url` and `base_url` belong to the server that started last, for the command line.
    `create table instance (
      database_id text not null,
      short_url text,
      base_url text
    )${end}`,
    `insert into instance (database_id) values (${newId})`,

    `create table accounts (
      id ${id},
      name text not null,
      time_zones text not null default '[["UTC",0]]',
      recent_day integer not null default 0,
      recent_scope integer not null default 0,
      recent_id ${integer} not null default 0,
      recent_until_ms ${integer} not null default 0,
      created_at text not null
    )${end}`,
    'create index accounts_by_recent_day on accounts (recent_day)',
    'create index accounts_by_recent_until on accounts (recent_until_ms)',

    `create table keys (
      id ${id},
      account_id ${integer} not null references accounts (id),
      name text not null,
      created_by text,
      hash ${bytes} not null unique,
      first_characters text not null,
      last_characters text not null,
      scopes text not null,
      created_at text not null,
      lifetime_ms ${integer},
      expires_at text,
      revoked_at text,
      last_used_at text
    )${end}`,

    // `browser` is the browser's name, not its user agent. `key_id` is set if a key started the session.
    `create table sessions (
      id ${id},
      account_id ${integer} not null references accounts (id) on delete cascade,
      key_id ${integer} references keys (id) on delete cascade,
      hash ${bytes} not null unique,
      name text,
      browser ${text} not null,
      created_at ${text} not null,
      last_used_at ${text} not null,
      expires_at ${text} not null
    )${end}`,
    'create index sessions_by_account on sessions (account_id, id)',
    'create index sessions_by_expiry on sessions (expires_at)',

    `create table login_tokens (
      hash ${bytes} primary key,
      account_id ${integer} not null references accounts (id) on delete cascade,
      name text,
      session_id ${integer} references sessions (id) on delete cascade,
      created_at ${text} not null,
      expires_at ${text} not null
    )${end}`,
    'create index login_tokens_by_expiry on login_tokens (expires_at)',
    'create index login_tokens_by_session on login_tokens (session_id) where session_id is not null',

    `create table stored_responses (
      id ${id},
      account_id ${integer} not null references accounts (id),
      key_id ${integer} not null references keys (id),
      idempotency_key ${text} not null,
      fingerprint ${text} not null,
      expires_at ${text} not null,
      status integer,
      location text,
      etag text,
      body text,
      unique (key_id, idempotency_key)
    )${end}`,
    'create index stored_responses_by_expiry on stored_responses (expires_at)',

    `create table request_counts (
      subject ${text} not null,
      ends_at ${integer} not null,
      node ${text} not null,
      requests ${integer} not null,
      primary key (subject, ends_at, node)
    )${keyedEnd}`,
    'create index request_counts_by_end on request_counts (ends_at)',
  ]
  // On SQLite, records have a foreign key to their account, and records that are being removed belong to account 0.
  const now = `strftime('%Y-%m-%dT%H:%M:%fZ', 'now')`
  const removed = `insert into accounts (id, name, created_at) values (0, 'Being removed', ${now})`
  return isSqlite ? [...tables, removed] : tables
}
