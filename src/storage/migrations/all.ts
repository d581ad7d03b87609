import type { MigrationStep, Migrations } from '../migrate.ts'
import { accountTables } from './accounts.ts'
import { addressRows } from './address-rows.ts'
import { addressTables } from './addresses.ts'
import { clickTotals } from './click-totals.ts'
import { clickTables } from './clicks.ts'
import { type Dialect, postgres, sqlite } from './dialect.ts'
import { eventLog } from './events.ts'
import { aliasOrder, filterIndexes } from './filter-indexes.ts'
import { importBatches, importDecisions, importReferences, importTables } from './imports.ts'
import { jobTable } from './jobs.ts'
import { letterIndexes } from './letters.ts'
import { linkKeys } from './link-keys.ts'
import { peopleTables } from './people.ts'
import { recordTables } from './records.ts'
import { ruleColumns } from './rules.ts'
import { foldAgain } from './spellings.ts'

/** The steps of each migration. Released migrations never change. */
const all: Readonly<Record<string, (dialect: Dialect) => MigrationStep[]>> = {
  '0001-foundation': (dialect) =>
    [accountTables, recordTables, clickTables, searchIndexes].flatMap((part) => part(dialect)),
  '0002-spellings': foldAgain,
  '0003-events': eventLog,
  '0004-filter-indexes': filterIndexes,
  '0005-short-searches': ({ engine }) =>
    engine === 'sqlite' ? ['domains', 'spaces', 'tags', 'links'].flatMap(indexAgain) : [],
  '0006-click-totals': clickTotals,
  '0007-people': (dialect) => [...peopleTables(dialect), ...memberSearch(dialect)],
  '0008-letters': ({ engine }) => (engine === 'sqlite' ? [] : letterIndexes()),
  '0009-rules': ruleColumns,
  '0010-addresses': addressTables,
  '0011-imports': importTables,
  '0012-import-errors': ({ json }) => [`alter table imports add column error ${json}`],
  '0013-import-warnings': ({ text }) => [`alter table import_rows add column warnings ${text}`],
  '0014-address-rows': addressRows,
  '0015-import-decisions': importDecisions,
  '0016-link-keys': linkKeys,
  '0017-jobs': jobTable,
  '0018-import-references': importReferences,
  '0019-import-batches': importBatches,
  '0020-job-tokens': () => ['create unique index jobs_by_token on jobs (token)'],
  '0021-access-ends': ({ text }) =>
    ['members', 'invitations'].map((table) => `alter table ${table} add column access_ends_at ${text}`),
  '0022-alias-order': aliasOrder,
  // With the account, because SQLite preferred the index of all its events.
  '0023-erasures': () => [
    'drop index events_by_erasure',
    'create index events_by_erasure on events (account_id, id) where changes is null and kept is not null',
  ],
}

/** Returns the migrations for one engine, by name. */
export function buildMigrations(engine: Dialect['engine']): Migrations {
  const dialect = engine === 'sqlite' ? sqlite : postgres
  return Object.fromEntries(Object.entries(all).map(([name, steps]) => [name, steps(dialect)]))
}

/** Returns the search indexes, on SQLite with the records that they lack. */
function searchIndexes({ engine }: Dialect): string[] {
  return engine === 'sqlite' ? indexesOfSqlite() : indexesOfPostgres
}

function indexesOfSqlite(): string[] {
  const linkColumns = ['account_id', 'alias_folded', 'title', 'title_folded', 'url', 'url_folded']
  return [
    `create table search_changes (
      resource text not null,
      document integer not null,
      primary key (resource, document)
    ) without rowid, strict`,
    ...createSearchIndex('domains', ['name'], ['account_id', 'name', 'search_text']),
    ...createSearchIndex('spaces', ['name'], ['account_id', 'name_folded']),
    ...createSearchIndex('tags', ['name'], ['account_id', 'name_folded']),
    ...createSearchIndex('links', ['alias', 'title', 'url'], linkColumns),
  ]
}

/** Returns the search index of a table's texts, which are computed from the columns: see `sqlite/search-index.ts`. */
export function createSearchIndex(table: string, texts: readonly string[], columns: readonly string[]): string[] {
  const enqueue = (row: 'old' | 'new') =>
    `insert into search_changes values ('${table}', (${row}.account_id << 40) | ${row}.id) on conflict do nothing`
  const isEdited = columns.map((column) => `new.${column} is not old.${column}`).join(' or ')
  const name = `${table}_search`
  return [
    `create virtual table ${name} using fts5 (
      ${texts.join(', ')}, content = '', contentless_delete = 1, detail = column,
      tokenize = 'trigram case_sensitive 1'
    )`,
    // Rewrite a part of the index once 40 % of it is deleted: at SQLite's 10 %, that dominates the cost of a deletion.
    `insert into ${name} (${name}, rank) values ('deletemerge', 40)`,
    ...sqlite.trigger(`${name}_inserted`, `after insert on ${table}`, [enqueue('new')]),
    ...sqlite.trigger(
      `${name}_updated`,
      `after update of ${columns} on ${table}`,
      [enqueue('old'), enqueue('new')],
      isEdited,
    ),
    ...sqlite.trigger(`${name}_deleted`, `after delete on ${table}`, [enqueue('old')]),
  ]
}

/** Returns the table of an index's trigrams. */
export function createSearchTerms(table: string): string {
  return `create virtual table ${table}_terms using fts5vocab(${table}_search, instance)`
}

function memberSearch({ engine }: Dialect): string[] {
  return engine === 'sqlite'
    ? [
        ...createSearchIndex('members', ['name', 'email'], ['account_id', 'name_folded', 'email', 'email_folded']),
        createSearchTerms('members'),
      ]
    : [
        trigramIndexes([
          ['members_by_text', 'members', 'name_folded'],
          ['members_by_email_text', 'members', '(coalesce(email_folded, email))'],
        ]),
      ]
}

/** Returns statements that empty an index and let the server fill it again, with texts that end with `padding`. */
function indexAgain(table: string): string[] {
  return [
    createSearchTerms(table),
    `insert into ${table}_search (${table}_search) values ('delete-all')`,
    `insert into search_changes select '${table}', (account_id << 40) | id from ${table} where true on conflict do nothing`,
  ]
}

const indexesOfPostgres = [
  // Without the extension, searches are slower, but still correct.
  `do $$ begin
    create extension if not exists pg_trgm;
  exception when others then
    raise notice 'searches run without pg_trgm: %', sqlerrm;
  end $$`,
  trigramIndexes([
    ['domains_by_text', 'domains', '(coalesce(search_text, name))'],
    ['spaces_by_text', 'spaces', 'name_folded'],
    ['tags_by_text', 'tags', 'name_folded'],
    ['links_by_text', 'links', 'alias_folded'],
    ['links_by_title_text', 'links', '(coalesce(title_folded, title))'],
    ['links_by_url_text', 'links', '(coalesce(url_folded, url))'],
  ]),
]

/** Returns a statement that creates indexes of trigrams, each on an expression of a table, if PostgreSQL has `pg_trgm`. */
function trigramIndexes(indexes: readonly (readonly [name: string, table: string, expression: string])[]): string {
  const create = ([name, table, expression]: (typeof indexes)[number]) =>
    `execute 'create index ${name} on ${table} using gin (${expression} ' || operators || ')';`
  return `do $$ declare
    operators text := (select extnamespace::regnamespace || '.gin_trgm_ops' from pg_extension where extname = 'pg_trgm');
  begin
    if operators is not null then
      ${indexes.map(create).join('\n      ')}
    end if;
  end $$`
}
