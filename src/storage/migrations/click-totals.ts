import type { Dialect } from './dialect.ts'

/**
 * Adds columns for daily totals, so that sums over days need no JSON. On SQLite they are in front of the JSON, because it
 * reads all pages of a row up to a column.
 */
export function clickTotals({ engine, integer, json, keyedEnd }: Dialect): string[] {
  const added = totals.map((name) => `${name} ${integer} not null default 0`)
  if (engine === 'postgres') {
    return [
      `alter table click_days ${added.map((column) => `add column ${column}`).join(', ')}`,
      `update click_days set (${totals.join(', ')}) = (
        select ${totals.map((_, at) => `coalesce(sum((value ->> ${at})::bigint), 0)`).join(', ')} from json_each(hours)
      )`,
    ]
  }
  return [
    'alter table click_days rename to click_days_before',
    `create table click_days (
      scope integer not null,
      day integer not null,
      id ${integer} not null,
      domain_id ${integer},
      space_id ${integer},
      ${added.join(', ')},
      hours ${json} not null,
      breakdowns ${json} not null,
      primary key (scope, day, id)
    )${keyedEnd}`,
    `insert into click_days select scope, day, id, domain_id, space_id, ${totals.map(sumHours).join(', ')}, hours, breakdowns
      from click_days_before order by scope, day, id`,
    'drop table click_days_before',
  ]
}

const totals = ['clicks', 'unique_clicks', 'bots', 'previews']

function sumHours(_: string, at: number): string {
  return `(select coalesce(sum(value ->> ${at}), 0) from json_each(hours))`
}
