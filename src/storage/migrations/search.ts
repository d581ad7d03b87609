/** The changes that the search index of SQLite must notice, and the indexes that make searches fast on PostgreSQL. */

const searchedOfLinks = ['alias_folded', 'title', 'url']
const logOld = (resource: string) =>
  `insert into search_changes (resource, account_id, record_id) values ('${resource}', old.account_id, old.id)`
const logNew = (resource: string) =>
  `insert into search_changes (resource, account_id, record_id) values ('${resource}', new.account_id, new.id)`

export const sqlite = [
  // What the search index cannot see by itself; see sqlite/search/indexing.ts.
  `create table search_changes (
    seq integer primary key autoincrement,
    resource text not null,
    account_id integer not null,
    record_id integer not null
  ) strict`,
  ...['domains', 'spaces', 'links'].map(
    (resource) => `create trigger ${resource}_unindexed after delete on ${resource} begin
      ${logOld(resource)};
    end`,
  ),
  ...['domains', 'spaces'].map(
    (resource) => `create trigger ${resource}_reindexed after update of account_id on ${resource} begin
      ${logOld(resource)};
      ${logNew(resource)};
    end`,
  ),
  `create trigger spaces_renamed after update of name_folded on spaces when new.name_folded <> old.name_folded begin
    ${logNew('spaces')};
  end`,
  `create trigger links_reworded after update of ${searchedOfLinks} on links
    when ${searchedOfLinks.map((column) => `new.${column} is not old.${column}`).join(' or ')} begin
    ${logNew('links')};
  end`,
  // The search index looks for new links above the last id that it knows, so a restored link is logged.
  `create trigger deleted_links_restored after delete on deleted_links begin
    insert into search_changes (resource, account_id, record_id)
      select 'links', old.account_id, old.id where exists (select 1 from links where id = old.id);
  end`,
]

export const postgres = [
  // Without the extension, searches are slower, but still correct. If this user may not create it, an administrator can
  // do so later.
  `do $$ begin
    create extension if not exists pg_trgm;
  exception when others then
    raise notice 'searches run without pg_trgm: %', sqlerrm;
  end $$`,
  `do $$ declare
    operators text := (select extnamespace::regnamespace || '.gin_trgm_ops' from pg_extension where extname = 'pg_trgm');
  begin
    if operators is not null then
      execute 'create index domains_by_text on domains using gin ((coalesce(search_text, name)) ' || operators || ')';
      execute 'create index spaces_by_text on spaces using gin (name_folded ' || operators || ')';
      execute 'create index links_by_text on links using gin (alias_folded ' || operators || ')';
      execute 'create index links_by_title_text on links using gin ((coalesce(title_folded, title)) ' || operators || ')';
      execute 'create index links_by_url_text on links using gin ((coalesce(url_folded, url)) ' || operators || ')';
    end if;
  end $$`,
]
