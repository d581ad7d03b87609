import type { Dialect } from './dialect.ts'

/** Creates the tables of imports. */
export function importTables({ engine, id, integer, text, json, end }: Dialect): string[] {
  // Account 0 exists only on SQLite.
  const references = engine === 'sqlite' ? 'references accounts (id)' : ''
  return [
    `create table imports (
      id ${id},
      account_id ${integer} not null ${references},
      source ${text} not null,
      state ${text} not null,
      is_case_sensitive ${integer} not null,
      options ${json} not null,
      columns ${json} not null,
      summary ${json} not null,
      batch_id ${text} not null,
      applied_row ${integer} not null default 0,
      applied_day ${integer} not null default 0,
      job ${text},
      job_token ${text},
      job_until_ms ${integer} not null default 0,
      applied_at ${text},
      created_at ${text} not null,
      updated_at ${text} not null,
      revision ${integer} not null default 1
    )${end}`,
    'create index imports_by_account on imports (account_id, id)',
    `create table import_rows (
      import_id ${integer} not null references imports,
      id ${integer} not null,
      line ${integer},
      content ${json} not null,
      cells ${json},
      outcome ${text},
      code ${text},
      message ${text},
      link_id ${integer},
      changes ${json},
      losses ${text} not null default '',
      primary key (import_id, id)
    )${end}`,
    'create index import_rows_by_outcome on import_rows (import_id, outcome, id)',
    `create table import_addresses (
      import_id ${integer} not null references imports,
      row_id ${integer} not null,
      position ${integer} not null,
      host ${text} not null,
      path ${text} not null,
      folded ${text} not null,
      domain_id ${integer},
      alias ${text},
      exact ${integer} not null default 0,
      legacy ${integer} not null default 0,
      result ${text},
      old_status ${integer},
      old_location ${text},
      new_status ${integer},
      new_location ${text},
      reason ${text},
      primary key (import_id, row_id, position)
    )${end}`,
    'create index import_addresses_by_alias on import_addresses (import_id, folded, row_id)',
    'create index import_addresses_by_result on import_addresses (import_id, result, host, row_id)',
    `create table import_days (
      id ${id},
      import_id ${integer} not null references imports,
      host ${text} not null,
      path ${text} not null,
      folded ${text} not null,
      day ${integer} not null,
      clicks ${integer} not null,
      bots ${integer} not null,
      hours ${json} not null,
      breakdowns ${json} not null
    )${end}`,
    'create index import_days_by_import on import_days (import_id, id)',
    'create index import_days_by_alias on import_days (import_id, folded)',
  ]
}

/** Lets jobs work on imports, and counts the events of their batches, from which their states follow. */
export function importBatches({ integer, json }: Dialect): string[] {
  const now = new Date().toISOString()
  const error = JSON.stringify({ code: 'import_interrupted' })
  return [
    `alter table imports add column is_deleting ${integer}`,
    `alter table imports add column open_events ${integer} not null default 0`,
    `alter table imports add column returned_in ${json}`,
    'create index imports_by_batch on imports (batch_id)',
    'create index imports_by_is_deleting on imports (account_id, is_deleting, id)',
    `update imports set open_events = (select count(*) from events where events.account_id = imports.account_id
      and events.batch_id = imports.batch_id and events.record in ('link', 'tag') and events.undone_by is null)
      where state in ('applying', 'applied', 'undoing')`,
    `update imports set state = case when applied_at is null then 'applying' else 'applied' end where state = 'undoing'`,
    `update imports set state = 'failed', error = '${error}' where state = 'planning'`,
    // Earlier versions moved imports that they were deleting to account 0.
    'update imports set is_deleting = 1 where account_id = 0',
    `insert into jobs (kind, record, record_id, state, created_at, updated_at)
      select 'deletion', 'import', id, 'waiting', '${now}', '${now}' from imports where account_id = 0`,
    ...['job', 'job_token', 'job_until_ms'].map((name) => `alter table imports drop column ${name}`),
  ]
}

/** Makes the decision about each row one column, apart from its outcome and its link, by which queries select rows. */
export function importDecisions({ engine, text }: Dialect): string[] {
  const quote = (column: string) =>
    engine === 'sqlite' ? `json_quote(${column})` : `coalesce(to_json(${column})::text, 'null')`
  const value = (column: string, none: string) => `coalesce(cast(${column} as text), '${none}')`
  const losses = `case losses when '' then '[]' else '["' || replace(losses, ',', '","') || '"]' end`
  const decision = [
    ...[`'{"code":' || ${quote('code')}`, `'"message":' || ${quote('message')}`],
    ...[`'"changes":' || ${value('changes', 'null')}`, `'"losses":' || ${losses}`],
    `'"warnings":' || ${value('warnings', '[]')} || '}'`,
  ].join(" || ',' || ")
  return [
    `alter table import_rows add column decision ${text}`,
    `update import_rows set decision = ${decision} where outcome is not null`,
    ...['code', 'message', 'changes', 'losses', 'warnings'].map(
      (name) => `alter table import_rows drop column ${name}`,
    ),
  ]
}

/** Adds references of clicks to rows, which were in memory while a file was read. */
export function importReferences({ text }: Dialect): string[] {
  return ['import_rows', 'import_days'].flatMap((table) => [
    `alter table ${table} add column reference ${text}`,
    `create index ${table}_by_reference on ${table} (import_id, reference) where reference is not null`,
  ])
}
