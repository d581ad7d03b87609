/**
 * Links; what their visitors' listener must hear of; and account 0, where a domain or space waits for its links to be
 * taken off it (see `storage/removal.ts`).
 */

/** What the listener for visitors keeps in memory of a link. Clicks are not among it: they would fill the log. */
const served = [
  ...[
    'domain_id',
    'alias',
    'alias_folded',
    'url',
    'title',
    'disabled',
    'active_period_start_at',
    'active_period_end_at',
  ],
  ...['clicks_limit', 'expiration_url', 'redirect_password', 'forward_query', 'redirect_status'],
]
const servedOfDomains = ['account_id', 'name', 'homepage_url', 'not_found_url']
const searched = ['alias_folded', 'title', 'url']

/** Of a domain that is being removed, no visitor reaches a link: taking a million off it would flood the log. */
const isOfServedDomain = 'exists (select 1 from domains where id = old.domain_id and account_id <> 0)'

const anyOf = (columns: readonly string[], condition: (column: string) => string) => columns.map(condition).join(' or ')

/** The columns that both engines declare alike, but for the types of ids, times and compared texts. */
const columns = (id: string, compared: string) => `
    account_id ${id} not null,
    domain_id ${id} not null references domains (id),
    space_id ${id} references spaces (id),
    alias text not null,
    alias_folded ${compared} not null,
    url text not null,
    url_folded ${compared},
    title text,
    title_folded ${compared},
    disabled integer not null check (disabled in (0, 1)),
    active_period_start_at ${compared},
    active_period_end_at ${compared},
    clicks_limit integer check (clicks_limit > 0),
    expiration_url text,
    redirect_password text,
    forward_query integer not null check (forward_query in (0, 1)),
    redirect_status integer not null check (redirect_status in (301, 302, 307, 308)),
    status ${compared} not null,
    status_due_at ${compared},
    clicks ${id} not null default 0,
    last_clicked_at text,
    created_at text not null,
    updated_at text not null,
    revision integer not null default 1,
    unique (domain_id, alias_folded),
    check (active_period_start_at < active_period_end_at)`

const indexes = [
  'create index links_by_account on links (account_id, id)',
  'create index links_by_alias on links (account_id, alias_folded, id)',
  'create index links_by_clicks on links (account_id, clicks, id)',
  'create index links_by_domain_id on links (account_id, domain_id, id)',
  'create index links_by_space_id on links (account_id, space_id, id)',
  'create index links_by_status on links (account_id, status, id)',
  'create index links_by_space on links (space_id, id) where space_id is not null',
  'create index links_by_status_due on links (account_id, status_due_at) where status_due_at is not null',
]

export const sqlite = [
  `insert into accounts (id, name, created_at) values (0, 'Being removed', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))`,
  `create table links (
    id integer primary key autoincrement,${columns('integer', 'text')}
  ) strict`,
  ...indexes,

  `create table changes (
    seq integer primary key autoincrement,
    resource text not null,
    record_id integer not null
  ) strict`,

  `create trigger links_stored after insert on links begin
    insert into record_counts values (new.account_id, 'links', 1) on conflict do update set total = total + 1;
  end`,
  `create trigger links_deleted after delete on links begin
    update record_counts set total = total - 1 where account_id = old.account_id and resource = 'links';
    insert into search_changes (resource, account_id, record_id) values ('links', old.account_id, old.id);
    insert into changes (resource, record_id) select 'links', old.id where ${isOfServedDomain};
  end`,
  `create trigger links_reworded after update of ${searched} on links
    when ${anyOf(searched, (column) => `new.${column} is not old.${column}`)} begin
    insert into search_changes (resource, account_id, record_id) values ('links', new.account_id, new.id);
  end`,
  `create trigger links_edited after update of ${served} on links
    when ${anyOf(served, (column) => `new.${column} is not old.${column}`)} begin
    insert into changes (resource, record_id) values ('links', new.id);
  end`,

  ...['domains', 'spaces'].map(
    (resource) => `create trigger ${resource}_moved after update of account_id on ${resource} begin
      update record_counts set total = total - 1 where account_id = old.account_id and resource = '${resource}';
      insert into record_counts values (new.account_id, '${resource}', 1) on conflict do update set total = total + 1;
      insert into search_changes (resource, account_id, record_id) values ('${resource}', old.account_id, old.id);
      insert into search_changes (resource, account_id, record_id) values ('${resource}', new.account_id, new.id);
    end`,
  ),
  ...[
    ['served', 'insert'],
    ['edited', `update of ${servedOfDomains}`],
    ['unserved', 'delete'],
  ].map(
    ([name, event]) => `create trigger domains_${name} after ${event} on domains begin
      insert into changes (resource, record_id) values ('domains', ${name === 'unserved' ? 'old' : 'new'}.id);
    end`,
  ),
]

export const postgres = [
  `create table links (
    id bigint generated by default as identity primary key,${columns('bigint', 'text collate "C"')}
  )`,
  ...indexes,

  // Numbers are taken before the commit, so a later one may be seen earlier. The transaction tells what may be missing.
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
  'create trigger stored after insert on links for each row execute function record_stored()',
  'create trigger deleted after delete on links for each row execute function record_deleted()',
  `create function link_removed() returns trigger language plpgsql as $$
    begin
      insert into changes (resource, record_id) select 'links', old.id where ${isOfServedDomain};
      return null;
    end $$`,
  'create trigger removed after delete on links for each row execute function link_removed()',
  `create trigger edited after update of ${served} on links for each row
    when (${anyOf(served, (column) => `new.${column} is distinct from old.${column}`)})
    execute function record_changed()`,
  ...['domains', 'spaces'].flatMap((resource) => [
    `create trigger left_account after update of account_id on ${resource} for each row
      execute function record_deleted()`,
    `create trigger joined_account after update of account_id on ${resource} for each row
      execute function record_stored()`,
  ]),
  `create trigger changed after insert or delete or update of ${servedOfDomains} on domains for each row
    execute function record_changed()`,

  `do $$ declare
    operators text := (select extnamespace::regnamespace || '.gin_trgm_ops' from pg_extension where extname = 'pg_trgm');
  begin
    if operators is not null then
      execute 'create index links_by_text on links using gin (alias_folded ' || operators || ')';
      execute 'create index links_by_title_text on links using gin ((coalesce(title_folded, title)) ' || operators || ')';
      execute 'create index links_by_url_text on links using gin ((coalesce(url_folded, url)) ' || operators || ')';
    end if;
  end $$`,
]
