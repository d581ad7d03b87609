/**
 * Accounts, keys, domains and spaces. Each engine has its own body under one name; forward only.
 */
import { type Kysely, sql } from 'kysely'

const sqliteTables = [
  `create table instance (database_id text not null) strict`,
  `insert into instance values (lower(hex(randomblob(16))))`,

  `create table accounts (
    id integer primary key autoincrement,
    name text not null,
    created_at text not null
  ) strict`,

  `create table keys (
    id integer primary key autoincrement,
    account_id integer not null references accounts (id),
    name text not null,
    hash blob not null unique,
    first_characters text not null,
    last_characters text not null,
    scopes text not null,
    created_at text not null,
    lifetime_ms integer,
    expires_at text,
    revoked_at text,
    last_used_at text
  ) strict`,

  // The exact total of every list, so that no list counts rows.
  `create table record_counts (
    account_id integer not null,
    resource text not null,
    total integer not null,
    primary key (account_id, resource)
  ) without rowid, strict`,

  // What the search index cannot see by itself; see sqlite/search/indexing.ts.
  `create table search_changes (
    seq integer primary key autoincrement,
    resource text not null,
    account_id integer not null,
    record_id integer not null
  ) strict`,

  `create table domains (
    id integer primary key autoincrement,
    account_id integer not null references accounts (id),
    name text not null unique,
    name_unicode text not null,
    search_text text,
    homepage_url text,
    not_found_url text,
    created_at text not null,
    updated_at text not null
  ) strict`,
  `create index domains_by_account on domains (account_id)`,
  // With all that a search by name reads, so that it never goes to the rows. The id is named to keep it before the text.
  `create index domains_by_name on domains (account_id, name, id, search_text)`,

  `create table spaces (
    id integer primary key autoincrement,
    account_id integer not null references accounts (id),
    name text not null,
    name_folded text not null,
    color integer not null check (color between 1 and 6),
    created_at text not null,
    updated_at text not null
  ) strict`,
  `create index spaces_by_account on spaces (account_id)`,
  `create index spaces_by_name on spaces (account_id, name_folded)`,

  ...['domains', 'spaces'].flatMap((resource) => [
    `create trigger ${resource}_stored after insert on ${resource} begin
      insert into record_counts values (new.account_id, '${resource}', 1)
        on conflict do update set total = total + 1;
    end`,
    `create trigger ${resource}_deleted after delete on ${resource} begin
      update record_counts set total = total - 1 where account_id = old.account_id and resource = '${resource}';
      insert into search_changes (resource, account_id, record_id) values ('${resource}', old.account_id, old.id);
    end`,
  ]),
  `create trigger spaces_renamed after update of name_folded on spaces when new.name_folded <> old.name_folded begin
    insert into search_changes (resource, account_id, record_id) values ('spaces', new.account_id, new.id);
  end`,
]

export const sqlite = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const text of sqliteTables) await sql.raw(text).execute(db)
  },
}
