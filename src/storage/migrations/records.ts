import { type Dialect, sqlite } from './dialect.ts'

const resources = ['domains', 'spaces', 'tags', 'links']
/** Resources that move to account 0 when they are removed: see `storage/removal.ts`. */
const removable = ['domains', 'spaces', 'tags']

/** Returns the tables of domains, spaces and links, the number of each per account, and the log of changes. */
export function recordTables(dialect: Dialect): string[] {
  return [...tables(dialect), ...changeTables(dialect), ...counters(dialect), ...changeLog(dialect)]
}

function tables(dialect: Dialect): string[] {
  const { engine, id, integer, bytes, text, end, keyedEnd } = dialect
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

    `create table tags (
      id ${id},
      ${account},
      name text not null,
      name_folded ${text} not null,
      color integer not null check (color between 1 and 6),
      merged_into ${integer},
      created_at text not null,
      updated_at text not null,
      revision integer not null default 1
    )${end}`,
    'create index tags_by_account on tags (account_id, id)',
    'create index tags_by_name on tags (account_id, name_folded, id)',
    'create unique index tags_by_unique_name on tags (account_id, name_folded)',
    'create index tags_by_target on tags (merged_into) where merged_into is not null',

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
      notes text,
      archived integer not null default 0 check (archived in (0, 1)),
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
    'create index links_by_archived on links (account_id, archived, id)',

    `create table link_tags (
      account_id ${integer} not null,
      tag_id ${integer} not null references tags (id),
      link_id ${integer} not null references links (id) on delete cascade,
      primary key (tag_id, account_id, link_id)
    )${keyedEnd}`,
    'create index link_tags_by_link on link_tags (link_id, tag_id)',
    `create table tag_links (
      tag_id ${integer} not null references tags (id) on delete cascade,
      part ${integer} not null,
      total ${integer} not null,
      primary key (tag_id, part)
    )${keyedEnd}`,
  ]
}

/** Returns the tables of changes that the dashboard could reverse for a minute. */
function changeTables({ integer, text, end, keyedEnd }: Dialect): string[] {
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
      archived_links ${integer} not null,
      deleted_at ${text} not null
    )${end}`,
    'create index deleted_domains_by_account on deleted_domains (account_id)',
  ]
}

/**
 * Returns the table for the exact total of every list, so that no list counts rows, and its triggers. On PostgreSQL, totals
 * have parts, because a row is locked until the commit.
 */
function counters({ engine, integer, keyedEnd, trigger }: Dialect): string[] {
  const isSqlite = engine === 'sqlite'
  const add = (row: 'new' | 'old', counted: string, change: number | string) =>
    isSqlite
      ? `insert into record_counts values (${row}.account_id, '${counted}', ${change})
        on conflict do update set total = total + excluded.total`
      : `insert into record_counts values (${row}.account_id, '${counted}', ${part}, ${change})
        on conflict (account_id, resource, part) do update set total = record_counts.total + excluded.total`
  const archived = 'archived_links'
  return [
    // Pages are filled sparsely, so that the next version of a part fits next to the last.
    `create table record_counts (
      account_id ${integer} not null,
      resource text not null,
      ${isSqlite ? '' : 'part smallint not null,'}
      total ${integer} not null,
      primary key (account_id, resource ${isSqlite ? '' : ', part'})
    )${isSqlite ? keyedEnd : ' with (fillfactor = 10)'}`,
    ...(isSqlite ? rowCounters(add) : statementCounters()),
    ...removable.flatMap((resource) =>
      trigger(`${resource}_moved`, `after update of account_id on ${resource}`, [
        add('old', resource, -1),
        add('new', resource, 1),
      ]),
    ),
    ...trigger('archived_link_stored', 'after insert on links', [add('new', archived, 1)], 'new.archived = 1'),
    ...trigger('archived_link_deleted', 'after delete on links', [add('old', archived, -1)], 'old.archived = 1'),
    ...trigger(
      'link_archived',
      'after update of archived on links',
      [add('new', archived, '2 * new.archived - 1')],
      'new.archived <> old.archived',
    ),
  ]
}

/** Returns the triggers of SQLite for stored and deleted rows. */
function rowCounters(add: (row: 'new' | 'old', counted: string, change: number) => string): string[] {
  const addTag = (row: 'new' | 'old', change: number) =>
    `insert into tag_links values (${row}.tag_id, 0, ${change}) on conflict do update set total = total + excluded.total`
  return [
    ...resources.flatMap((resource) => [
      ...sqlite.trigger(`${resource}_stored`, `after insert on ${resource}`, [add('new', resource, 1)]),
      ...sqlite.trigger(`${resource}_deleted`, `after delete on ${resource}`, [add('old', resource, -1)]),
    ]),
    ...sqlite.trigger('link_tagged', 'after insert on link_tags', [addTag('new', 1)]),
    ...sqlite.trigger('link_untagged', 'after delete on link_tags', [addTag('old', -1)]),
  ]
}

/** The part of a total that a connection of PostgreSQL changes. */
const part = 'pg_backend_pid() % 16'

/**
 * Returns the same triggers of PostgreSQL, once for each statement. Counting each row creates a new version of the total for
 * every row, and each version takes longer to find: storing 100,000 links with one statement took 139 s instead of 5 s.
 */
function statementCounters(): string[] {
  return [
    countingRecords('records_stored', '+'),
    countingRecords('records_deleted', '-'),
    countingTags('links_tagged', '+'),
    countingTags('links_untagged', '-'),
    ...resources.flatMap((resource) => onStatement(resource, 'records_stored', 'records_deleted')),
    ...onStatement('link_tags', 'links_tagged', 'links_untagged'),
  ]
}

function onStatement(table: string, stored: string, deleted: string): string[] {
  return [
    `create trigger stored after insert on ${table} referencing new table as changed
      for each statement execute function ${stored}()`,
    `create trigger deleted after delete on ${table} referencing old table as changed
      for each statement execute function ${deleted}()`,
  ]
}

/** Returns a trigger function that counts the links of each tag in `changed`. */
function countingTags(name: string, sign: '+' | '-'): string {
  return `create function ${name}() returns trigger language plpgsql as $$
    begin
      insert into tag_links select tag_id, ${part}, ${sign} count(*) from changed group by tag_id order by tag_id
        on conflict (tag_id, part) do update set total = tag_links.total + excluded.total;
      return null;
    end $$`
}

/**
 * Returns a trigger function that counts the records in `changed`. Nearly always all of them belong to one account whose part
 * exists, so an update is tried first.
 */
function countingRecords(name: string, sign: '+' | '-'): string {
  return `create function ${name}() returns trigger language plpgsql as $$
    begin
      update record_counts set total = total ${sign} (select count(*) from changed)
        where (account_id, resource, part) = (
          (select min(account_id) from changed having min(account_id) = max(account_id)),
          tg_table_name,
          ${part}
        );
      if not found then
        insert into record_counts
          select account_id, tg_table_name, ${part}, ${sign} count(*)
            from changed group by account_id order by account_id
          on conflict (account_id, resource, part) do update set total = record_counts.total + excluded.total;
      end if;
      return null;
    end $$`
}

/**
 * The columns that the redirect server caches (`redirect/store.ts`), for the first migration. Clicks are not included, because
 * they would fill the log of changes.
 */
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
