import type { Dialect } from './dialect.ts'

const resources = ['domains', 'spaces', 'links']
/** Resources that move to account 0 when they are removed: see `storage/removal.ts`. */
const removable = ['domains', 'spaces']

/** Returns the tables of domains, spaces and links, the number of each per account, and the log of changes. */
export function recordTables(dialect: Dialect): string[] {
  const isSqlite = dialect.engine === 'sqlite'
  return [...tables(dialect), ...(isSqlite ? countersOfSqlite() : countersOfPostgres()), ...changeLog(dialect)]
}

function tables(dialect: Dialect): string[] {
  const { engine, id, integer, bytes, text, end } = dialect
  const isSqlite = engine === 'sqlite'
  // Without a foreign key on PostgreSQL: checking it would lock the account's row for every record, which is a fifth of
  // the cost of storing one. A key proves that its account exists, and accounts are never deleted.
  const account = `account_id ${integer} not null ${isSqlite ? 'references accounts (id)' : ''}`
  return [
    `create table domains (
      id ${id},
      ${account},
      name ${text} not null unique,
      name_unicode text not null,
      search_text ${text},
      homepage_url text,
      not_found_url text,
      created_at text not null,
      updated_at text not null,
      revision integer not null default 1
    )${end}`,
    'create index domains_by_account on domains (account_id, id)',
    // On SQLite, with everything that a search by name reads.
    `create index domains_by_name on domains (account_id, name, id ${isSqlite ? ', search_text' : ''})`,

    `create table domain_checks (
      domain_id ${integer} not null primary key references domains (id) on delete cascade,
      account_id ${integer} not null,
      checked_at ${text} not null,
      answer text not null,
      addresses text not null
    )${end}`,
    'create index domain_checks_by_answer on domain_checks (account_id, answer, checked_at)',

    `create table qr_styles (
      domain_id ${integer} primary key references domains (id) on delete cascade,
      account_id ${integer} not null references accounts (id),
      dark text not null,
      background text not null,
      margin integer not null,
      logo ${bytes}
    )${end}`,

    `create table spaces (
      id ${id},
      ${account},
      name text not null,
      name_folded ${text} not null,
      color integer not null check (color between 1 and 6),
      created_at text not null,
      updated_at text not null,
      revision integer not null default 1
    )${end}`,
    'create index spaces_by_account on spaces (account_id, id)',
    'create index spaces_by_name on spaces (account_id, name_folded, id)',

    `create table space_origins (
      space_id ${integer} primary key references spaces (id) on delete cascade,
      account_id ${integer} not null references accounts (id),
      source ${text} not null,
      source_id ${integer} not null,
      unique (account_id, source, source_id)
    )${end}`,

    `create table links (
      id ${id},
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
    `create index links_by_end on links (account_id, active_period_end_at, id)
      where active_period_end_at is not null and disabled = 0`,
    'create index links_by_space on links (space_id, id) where space_id is not null',
    'create index links_by_status_due on links (account_id, status_due_at) where status_due_at is not null',
    ...undoTables(dialect),
  ]
}

/** Returns the tables of changes that the dashboard can undo for a minute. */
function undoTables({ integer, text, end, keyedEnd }: Dialect): string[] {
  return [
    `create table link_edits (
      edit_id ${integer} not null,
      account_id ${integer} not null,
      link_id ${integer} not null,
      edited_at ${text} not null,
      version text not null,
      before text not null,
      primary key (edit_id, link_id)
    )${keyedEnd}`,
    'create index link_edits_by_time on link_edits (edited_at)',

    // A row that is deleted lets the removal of its domain begin: see `domains/deleted-domains.ts`.
    `create table deleted_domains (
      id ${integer} not null primary key references domains (id),
      account_id ${integer} not null,
      name ${text} not null,
      links ${integer} not null,
      deleted_at ${text} not null
    )${end}`,
    'create index deleted_domains_by_account on deleted_domains (account_id)',
  ]
}

/** Returns the table for the exact total of every list, so that no list counts rows, and its triggers. */
function countersOfSqlite(): string[] {
  const increment = (resource: string) => `insert into record_counts values (new.account_id, '${resource}', 1)
        on conflict do update set total = total + 1;`
  const decrement = (resource: string) =>
    `update record_counts set total = total - 1 where account_id = old.account_id and resource = '${resource}';`
  return [
    `create table record_counts (
      account_id integer not null,
      resource text not null,
      total integer not null,
      primary key (account_id, resource)
    ) without rowid, strict`,
    ...resources.flatMap((resource) => [
      `create trigger ${resource}_stored after insert on ${resource} begin ${increment(resource)} end`,
      `create trigger ${resource}_deleted after delete on ${resource} begin ${decrement(resource)} end`,
    ]),
    ...removable.map(
      (resource) => `create trigger ${resource}_moved after update of account_id on ${resource} begin
        ${decrement(resource)}
        ${increment(resource)}
      end`,
    ),
  ]
}

/** Returns the same for PostgreSQL. Totals have parts, because a row is locked until the commit. */
function countersOfPostgres(): string[] {
  return [
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
  ]
}

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

/** The columns that the redirect server caches (`redirect/store.ts`), in this release. Clicks are not included, because they would fill the log of changes. */
const servedOfLinks = [
  'domain_id',
  'alias',
  'alias_folded',
  'url',
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

/** Returns the log of changes that the redirect server must notice, and its triggers. */
function changeLog({ engine, id, integer, end, trigger }: Dialect): string[] {
  const isSqlite = engine === 'sqlite'
  const log = (resource: string, row: 'new' | 'old', condition = '') =>
    `insert into changes (resource, record_id) select '${resource}', ${row}.id ${condition}`
  // Links of a domain that is being removed are not served, and deleting a million of them would flood the log.
  const wasServed = 'where exists (select 1 from domains where id = old.domain_id and account_id <> 0)'
  const isEdited = servedOfLinks.map((column) => `new.${column} is distinct from old.${column}`).join(' or ')
  return [
    // PostgreSQL assigns numbers before the commit, so readers of changes compare transactions.
    `create table changes (
      seq ${id},
      ${isSqlite ? '' : 'transaction xid8 not null default pg_current_xact_id(),'}
      resource text not null,
      record_id ${integer} not null
    )${end}`,
    ...(isSqlite ? [] : ['create index changes_by_transaction on changes (transaction)']),
    ...trigger('link_unserved', 'after delete on links', [log('links', 'old', wasServed)]),
    ...trigger('link_edited', `after update of ${servedOfLinks} on links`, [log('links', 'new')], isEdited),
    ...trigger('domain_served', 'after insert on domains', [log('domains', 'new')]),
    ...trigger('domain_edited', `after update of ${servedOfDomains} on domains`, [log('domains', 'new')]),
    ...trigger('domain_unserved', 'after delete on domains', [log('domains', 'old')]),
  ]
}
