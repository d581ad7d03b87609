/**
 * Domains, spaces and links, how many of them each account has, and the changes that the redirect server must notice. A
 * domain or space that is being removed belongs to account 0; see `storage/removal.ts`.
 */

const resources = ['domains', 'spaces', 'links']
/** Resources that change their account when they are removed. */
const removable = ['domains', 'spaces']

/** What the redirect server caches of a link. Clicks are not among it because they would fill the log of changes. */
const servedOfLinks = [
  'domain_id',
  'alias',
  'alias_folded',
  'url',
  'title',
  'disabled',
  'active_period_start_at',
  'active_period_end_at',
  'clicks_limit',
  'expiration_url',
  'redirect_password',
  'forward_query',
  'redirect_status',
]
const servedOfDomains = ['account_id', 'name', 'homepage_url', 'not_found_url']

/** Links of a domain that is being removed are not served, and deleting a million of them would flood the log. */
const wasServed = 'exists (select 1 from domains where id = old.domain_id and account_id <> 0)'

interface Types {
  /** The primary key of a table whose ids are never reused. */
  readonly id: string
  readonly integer: string
  readonly color: string
  /** Text that is compared. */
  readonly text: string
  /** Text that domains are found by. */
  readonly name: string
  /** The account of a domain or space. */
  readonly account: string
  /** What follows the columns of a table. */
  readonly end: string
}

const tables = ({ id, integer, color, text, name, account, end }: Types) => [
  `create table domains (
    ${id},
    account_id ${account},
    name ${name} not null unique,
    name_unicode text not null,
    search_text ${text},
    homepage_url text,
    not_found_url text,
    created_at text not null,
    updated_at text not null,
    revision integer not null default 1
  )${end}`,

  `create table spaces (
    ${id},
    account_id ${account},
    name text not null,
    name_folded ${text} not null,
    color ${color} not null check (color between 1 and 6),
    created_at text not null,
    updated_at text not null,
    revision integer not null default 1
  )${end}`,

  // The record of another database that a space was imported from. Unlike a domain, a space has no unique name.
  `create table space_origins (
    space_id ${integer} primary key references spaces (id) on delete cascade,
    account_id ${integer} not null references accounts (id),
    source ${text} not null,
    source_id ${integer} not null,
    unique (account_id, source, source_id)
  )${end}`,

  `create table links (
    ${id},
    account_id ${integer} not null,
    domain_id ${integer} not null references domains (id),
    space_id ${integer} references spaces (id),
    alias text not null,
    alias_folded ${text} not null,
    url text not null,
    url_folded ${text},
    title text,
    title_folded ${text},
    disabled integer not null check (disabled in (0, 1)),
    active_period_start_at ${text},
    active_period_end_at ${text},
    clicks_limit integer check (clicks_limit > 0),
    expiration_url text,
    redirect_password text,
    forward_query integer not null check (forward_query in (0, 1)),
    redirect_status integer not null check (redirect_status in (301, 302, 307, 308)),
    status ${text} not null,
    status_due_at ${text},
    created_at text not null,
    updated_at text not null,
    revision integer not null default 1,
    unique (domain_id, alias_folded),
    check (active_period_start_at < active_period_end_at)
  )${end}`,
  'create index links_by_account on links (account_id, id)',
  'create index links_by_alias on links (account_id, alias_folded, id)',
  'create index links_by_domain_id on links (account_id, domain_id, id)',
  'create index links_by_space_id on links (account_id, space_id, id)',
  'create index links_by_status on links (account_id, status, id)',
  'create index links_by_space on links (space_id, id) where space_id is not null',
  'create index links_by_status_due on links (account_id, status_due_at) where status_due_at is not null',
]

export const sqlite = [
  ...tables({
    id: 'id integer primary key autoincrement',
    integer: 'integer',
    color: 'integer',
    text: 'text',
    name: 'text',
    account: 'integer not null references accounts (id)',
    end: ' strict',
  }),
  'create index domains_by_account on domains (account_id)',
  // With everything that a search by name reads. The id is named because it must come before the text.
  'create index domains_by_name on domains (account_id, name, id, search_text)',
  'create index spaces_by_account on spaces (account_id)',
  'create index spaces_by_name on spaces (account_id, name_folded)',

  // The exact total of every list, so that no list counts rows.
  `create table record_counts (
    account_id integer not null,
    resource text not null,
    total integer not null,
    primary key (account_id, resource)
  ) without rowid, strict`,
  ...resources.flatMap((resource) => [
    `create trigger ${resource}_stored after insert on ${resource} begin
      ${increment(resource)};
    end`,
    `create trigger ${resource}_deleted after delete on ${resource} begin
      ${decrement(resource)};
    end`,
  ]),
  ...removable.map(
    (resource) => `create trigger ${resource}_moved after update of account_id on ${resource} begin
      ${decrement(resource)};
      ${increment(resource)};
    end`,
  ),

  `create table changes (
    seq integer primary key autoincrement,
    resource text not null,
    record_id integer not null
  ) strict`,
  `create trigger links_unserved after delete on links begin
    insert into changes (resource, record_id) select 'links', old.id where ${wasServed};
  end`,
  `create trigger links_edited after update of ${servedOfLinks} on links
    when ${servedOfLinks.map((column) => `new.${column} is not old.${column}`).join(' or ')} begin
    insert into changes (resource, record_id) values ('links', new.id);
  end`,
  `create trigger domains_served after insert on domains begin
    insert into changes (resource, record_id) values ('domains', new.id);
  end`,
  `create trigger domains_edited after update of ${servedOfDomains} on domains begin
    insert into changes (resource, record_id) values ('domains', new.id);
  end`,
  `create trigger domains_unserved after delete on domains begin
    insert into changes (resource, record_id) values ('domains', old.id);
  end`,
]

function increment(resource: string): string {
  return `insert into record_counts values (new.account_id, '${resource}', 1)
        on conflict do update set total = total + 1`
}

function decrement(resource: string): string {
  return `update record_counts set total = total - 1 where account_id = old.account_id and resource = '${resource}'`
}

export const postgres = [
  ...tables({
    // Ids are never reused, but may leave gaps: a transaction that fails after it took an id does not return it.
    id: 'id bigint generated by default as identity primary key',
    integer: 'bigint',
    color: 'smallint',
    text: 'text collate "C"',
    name: 'text collate "C"',
    // No foreign key: a key proves that its account exists, and accounts are never deleted. Checking it would lock the
    // account's row for every record, which is a fifth of the cost of storing one.
    account: 'bigint not null',
    end: '',
  }),
  'create index domains_by_account on domains (account_id, id)',
  'create index domains_by_name on domains (account_id, name, id)',
  'create index spaces_by_account on spaces (account_id, id)',
  'create index spaces_by_name on spaces (account_id, name_folded, id)',

  // The exact total of every list, in parts: a row is locked until the commit, so connections change different parts.
  // Pages are filled sparsely, so that the next version of a part fits next to the last.
  `create table record_counts (
    account_id bigint not null,
    resource text not null,
    part smallint not null,
    total bigint not null,
    primary key (account_id, resource, part)
  ) with (fillfactor = 10)`,
  countingRow('record_stored', 'new', 1),
  countingRow('record_deleted', 'old', -1),
  countingStatement('records_stored', '+'),
  countingStatement('records_deleted', '-'),
  ...resources.flatMap((resource) => [
    `create trigger stored after insert on ${resource} referencing new table as changed
      for each statement execute function records_stored()`,
    `create trigger deleted after delete on ${resource} referencing old table as changed
      for each statement execute function records_deleted()`,
  ]),
  // PostgreSQL has no transition tables for triggers on an update of certain columns.
  ...removable.flatMap((resource) => [
    `create trigger left_account after update of account_id on ${resource} for each row
      execute function record_deleted()`,
    `create trigger joined_account after update of account_id on ${resource} for each row
      execute function record_stored()`,
  ]),

  // Numbers are assigned before the commit, so a higher one may become visible first. The transaction shows which
  // changes may be missing.
  `create table changes (
    seq bigint generated always as identity primary key,
    transaction xid8 not null default pg_current_xact_id(),
    resource text not null,
    record_id bigint not null
  )`,
  'create index changes_by_transaction on changes (transaction)',
  `create function record_changed() returns trigger language plpgsql as $$
    begin
      insert into changes (resource, record_id) values (tg_table_name, coalesce(new.id, old.id));
      return null;
    end $$`,
  `create function link_removed() returns trigger language plpgsql as $$
    begin
      insert into changes (resource, record_id) select 'links', old.id where ${wasServed};
      return null;
    end $$`,
  'create trigger removed after delete on links for each row execute function link_removed()',
  `create trigger edited after update of ${servedOfLinks} on links for each row
    when (${servedOfLinks.map((column) => `new.${column} is distinct from old.${column}`).join(' or ')})
    execute function record_changed()`,
  `create trigger changed after insert or delete or update of ${servedOfDomains} on domains for each row
    execute function record_changed()`,
]

/** Returns a trigger function that counts one record. Nearly always its part exists, so an update is tried first. */
function countingRow(name: string, record: 'new' | 'old', change: number): string {
  const part = `${record}.account_id, tg_table_name, pg_backend_pid() % 16`
  return `create function ${name}() returns trigger language plpgsql as $$
    begin
      update record_counts set total = total + ${change} where (account_id, resource, part) = (${part});
      if not found then
        insert into record_counts values (${part}, ${change})
          on conflict (account_id, resource, part) do update set total = record_counts.total + excluded.total;
      end if;
      return null;
    end $$`
}

/**
 * Returns a trigger function that counts the rows of `changed`, once for each statement. Counting each row creates a new
 * version of the total for every row, and each version takes longer to find: storing 100,000 links with one statement
 * took 139 s instead of 5 s. Nearly always all rows belong to one account whose part exists, so an update is tried first.
 */
function countingStatement(name: string, sign: '+' | '-'): string {
  return `create function ${name}() returns trigger language plpgsql as $$
    begin
      update record_counts set total = total ${sign} (select count(*) from changed)
        where (account_id, resource, part) = (
          (select min(account_id) from changed having min(account_id) = max(account_id)),
          tg_table_name,
          pg_backend_pid() % 16
        );
      if not found then
        insert into record_counts
          select account_id, tg_table_name, pg_backend_pid() % 16, ${sign} count(*)
            from changed group by account_id order by account_id
          on conflict (account_id, resource, part) do update set total = record_counts.total + excluded.total;
      end if;
      return null;
    end $$`
}
