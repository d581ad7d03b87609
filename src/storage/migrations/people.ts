import type { Dialect } from './dialect.ts'

/**
 * Returns the tables of people, members, invitations and passkeys. Sessions and sign-in links belong to members from now on.
 * Sessions and sign-in links without a key end, because no one knows whose they are.
 */
export function peopleTables(dialect: Dialect): string[] {
  return [...people(dialect), ...members(dialect), ...signIn(dialect), ...changedTables(dialect)]
}

function people({ id, integer, bytes, text, end }: Dialect): string[] {
  return [
    `create table people (
      id ${id},
      handle ${bytes} not null unique,
      oidc_issuer ${text},
      oidc_subject ${text},
      time_zone text,
      created_at text not null,
      check ((oidc_issuer is null) = (oidc_subject is null))
    )${end}`,
    'create unique index people_by_subject on people (oidc_issuer, oidc_subject) where oidc_subject is not null',

    `create table passkeys (
      id ${id},
      person_id ${integer} not null references people (id) on delete cascade,
      credential_id ${text} not null unique,
      public_key ${bytes} not null,
      counter ${integer} not null,
      transports text not null,
      name text not null,
      created_at text not null,
      last_used_at text
    )${end}`,
    'create index passkeys_by_person on passkeys (person_id, id)',
  ]
}

function members({ id, integer, bytes, text, end }: Dialect): string[] {
  return [
    `create table members (
      id ${id},
      account_id ${integer} not null references accounts (id),
      person_id ${integer} not null references people (id),
      name text not null,
      name_folded ${text} not null,
      email text,
      email_folded text,
      role ${text} not null check (role in ('viewer', 'editor', 'admin', 'owner')),
      has_oidc_role integer not null default 0 check (has_oidc_role in (0, 1)),
      last_seen_at ${text},
      created_at text not null,
      updated_at text not null,
      revision integer not null default 1,
      unique (person_id, account_id)
    )${end}`,
    'create index members_by_account on members (account_id, id)',
    'create index members_by_name on members (account_id, name_folded, id)',
    // Finds the owners.
    `create index members_by_owner on members (account_id, id) where role = 'owner'`,

    `create table invitations (
      id ${id},
      account_id ${integer} not null references accounts (id),
      role ${text} not null check (role in ('viewer', 'editor', 'admin', 'owner')),
      name text,
      email text,
      hash ${bytes} not null unique,
      member_id ${integer} references members (id) on delete set null,
      expires_at ${text} not null,
      created_at text not null,
      updated_at text not null,
      revision integer not null default 1
    )${end}`,
    'create index invitations_by_account on invitations (account_id, id)',
    'create index invitations_by_member on invitations (member_id) where member_id is not null',
    'create index invitations_by_expiry on invitations (expires_at)',
  ]
}

function signIn({ integer, bytes, text, keyedEnd, end }: Dialect): string[] {
  return [
    `create table used_tokens (
      hash ${bytes} not null primary key,
      expires_at ${text} not null
    )${keyedEnd}`,
    'create index used_tokens_by_expiry on used_tokens (expires_at)',

    'drop table login_tokens',
    `create table login_tokens (
      hash ${bytes} primary key,
      account_id ${integer} not null references accounts (id) on delete cascade,
      member_id ${integer} not null references members (id) on delete cascade,
      created_at ${text} not null,
      expires_at ${text} not null
    )${end}`,
    'create index login_tokens_by_expiry on login_tokens (expires_at)',
    'create index login_tokens_by_member on login_tokens (member_id)',
  ]
}

function changedTables({ engine, integer, bytes, text }: Dialect): string[] {
  const isSqlite = engine === 'sqlite'
  // A random UUID has 122 random bits.
  const uuid = `replace(gen_random_uuid()::text, '-', '')`
  const secret = isSqlite ? 'randomblob(32)' : `decode(${uuid} || ${uuid}, 'hex')`
  return [
    'delete from sessions where key_id is null',
    `alter table sessions add column member_id ${integer} references members (id) on delete cascade`,
    `alter table sessions add column method ${text} not null default 'key'`,
    `alter table sessions add column oidc_sid ${text}`,
    'alter table sessions drop column name',
    'create index sessions_by_member on sessions (member_id) where member_id is not null',
    'create index sessions_by_oidc_sid on sessions (oidc_sid) where oidc_sid is not null',
    `alter table keys add column member_id ${integer} references members (id) on delete set null`,
    'create index keys_by_member on keys (member_id) where member_id is not null',
    'alter table accounts add column key_sign_in integer not null default 1 check (key_sign_in in (0, 1))',
    // Signs the challenges of passkeys.
    `alter table instance add column challenge_key ${bytes}`,
    `update instance set challenge_key = ${secret}`,
  ]
}
