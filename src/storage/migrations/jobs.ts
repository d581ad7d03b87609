import type { Dialect } from './dialect.ts'

/** Creates the table of jobs, with the removals and erasures that earlier versions have begun. */
export function jobTable({ id, integer, text, json, end }: Dialect): string[] {
  const now = new Date().toISOString()
  const columns = 'kind, record, record_id, account_id, state, created_at, updated_at'
  const add = (kind: string, record: string, [recordId, account]: readonly [string, string], from: string) =>
    `insert into jobs (${columns})
      select '${kind}', '${record}', ${recordId}, ${account}, 'waiting', '${now}', '${now}' ${from}`
  return [
    `create table jobs (
      id ${id},
      kind ${text} not null,
      record ${text} not null,
      record_id ${integer} not null,
      account_id ${integer},
      actor ${json},
      state ${text} not null,
      input ${json},
      position ${integer} not null default 0,
      done ${integer} not null default 0,
      total ${integer} not null default 0,
      error ${text},
      token ${text},
      free_at_ms ${integer} not null default 0,
      created_at ${text} not null,
      updated_at ${text} not null,
      unique (record, record_id)
    )${end}`,
    'create index jobs_by_time on jobs (free_at_ms)',
    'create index jobs_by_account on jobs (account_id)',
    ...['domain', 'space', 'tag'].map((group) =>
      add('removal', group, ['id', 'null'], `from ${group}s where account_id = 0`),
    ),
    add(
      'erasure',
      'account',
      ['account_id', 'account_id'],
      'from (select distinct account_id from events where changes is null and kept is not null) as erased',
    ),
  ]
}
