/**
 * Counts the changes of each record, for its version, and keeps the answers to requests that carry an Idempotency-Key.
 */

const revisions = ['domains', 'spaces'].map(
  (resource) => `alter table ${resource} add column revision integer not null default 1`,
)

export const sqlite = [
  ...revisions,
  // What was answered is null only while the transaction that stores the record is open.
  `create table kept_answers (
    id integer primary key,
    account_id integer not null references accounts (id),
    key_id integer not null references keys (id),
    idempotency_key text not null,
    fingerprint text not null,
    expires_at text not null,
    status integer,
    location text,
    etag text,
    body text,
    unique (key_id, idempotency_key)
  ) strict`,
  `create index kept_answers_by_expiry on kept_answers (expires_at)`,
]

export const postgres = [
  ...revisions,
  `create table kept_answers (
    id bigint generated always as identity primary key,
    account_id bigint not null references accounts (id),
    key_id bigint not null references keys (id),
    idempotency_key text collate "C" not null,
    fingerprint text collate "C" not null,
    expires_at text collate "C" not null,
    status integer,
    location text,
    etag text,
    body text,
    unique (key_id, idempotency_key)
  )`,
  `create index kept_answers_by_expiry on kept_answers (expires_at)`,
]
