/** The search index of SQLite with the records that it lacks, and the indexes that make searches fast on PostgreSQL. */

/**
 * Returns the search index of a SQLite table, and the triggers that note which of its records have to be indexed. `texts`
 * are the names of its texts, and `columns` those whose change changes the index. See `sqlite/search.ts`.
 */
export function searchIndexOf(table: string, texts: readonly string[], columns: readonly string[]): string[] {
  const note = (row: 'old' | 'new') =>
    `insert into search_changes values ('${table}', (${row}.account_id << 40) | ${row}.id) on conflict do nothing`
  return [
    `create virtual table ${table}_search using fts5 (
      ${texts.join(', ')}, content = '', contentless_delete = 1, detail = column,
      tokenize = 'trigram case_sensitive 1'
    )`,
    // Rewrite a part of the index once 40 % of it is deleted: at SQLite's 10 %, that dominates the cost of a deletion.
    `insert into ${table}_search (${table}_search, rank) values ('deletemerge', 40)`,
    `create trigger ${table}_search_inserted after insert on ${table} begin
      ${note('new')};
    end`,
    `create trigger ${table}_search_updated after update of ${columns.join(', ')} on ${table}
      when ${columns.map((column) => `new.${column} is not old.${column}`).join(' or ')} begin
      ${note('old')};
      ${note('new')};
    end`,
    `create trigger ${table}_search_deleted after delete on ${table} begin
      ${note('old')};
    end`,
  ]
}

export const sqlite = [
  `create table search_changes (
    resource text not null,
    document integer not null,
    primary key (resource, document)
  ) without rowid, strict`,
  ...searchIndexOf('domains', ['name'], ['account_id', 'name', 'search_text']),
  ...searchIndexOf('spaces', ['name'], ['account_id', 'name_folded']),
  ...searchIndexOf(
    'links',
    ['alias', 'title', 'url'],
    ['account_id', 'alias_folded', 'title', 'title_folded', 'url', 'url_folded'],
  ),
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
