/**
 * Clicks apart from links. A click writes a narrow row of totals and the facts of a day, never the wide row of a link; the
 * triggers keep the totals' rows in step with links. Facts are in the form of `storage/clicks/day-facts.ts`.
 */

/** Scopes of `click_days`, in the order in which transactions lock its rows. */
const [ofLink, ofDomain, ofSpace] = [0, 1, 2]

const isTold = (row: string) => `${row}.clicks + ${row}.bots + ${row}.previews > 0`

/**
 * Times are in Unix milliseconds: `forgotten_ms` is when the clicks were last forgotten. `space_id` is the space whose days hold
 * the link's clicks; those of days before `former_before` are still in the days of `former_space_id`.
 */
const totals = (id: string, key: string) => `create table link_clicks (
    link_id ${key},
    account_id ${id} not null,
    domain_id ${id} not null,
    space_id ${id},
    clicks ${id} not null default 0,
    bots ${id} not null default 0,
    previews ${id} not null default 0,
    last_clicked_ms ${id},
    forgotten_ms ${id},
    former_space_id ${id},
    former_before integer not null default 0
  )`
const totalsIndex = 'create index link_clicks_by_clicks on link_clicks (account_id, clicks, link_id)'
/** Tells of a click whether it can reach a limit. */
const limitsIndex = 'create index links_with_limit on links (id) where clicks_limit is not null'

const tables = (id: string, bytes: string, end: string) => [
  // Days are counted from 1970-01-01.
  `create table click_days (
    scope integer not null,
    day integer not null,
    id ${id} not null,
    facts ${bytes} not null,
    primary key (scope, day, id)
  )${end}`,
  // Who came on which day: a hash under the day's salt. Both are forgotten after the day.
  `create table click_visitors (
    day integer not null,
    link_id ${id} not null,
    visitor ${id} not null,
    primary key (day, link_id, visitor)
  )${end}`,
  `create table click_salts (day integer not null primary key, salt ${bytes} not null)${end}`,
  // The newest batch of each process, so that none is written twice.
  `create table click_batches (writer text not null primary key, batch ${id} not null, day integer not null)${end}`,
  // Links whose clicks have yet to follow them to another space, and records whose days have yet to be deleted.
  `create table click_moves (link_id ${id} not null primary key)${end}`,
  `create table click_removals (scope integer not null, id ${id} not null, primary key (scope, id))${end}`,
]

const ofNewLink = 'insert into link_clicks (link_id, account_id, domain_id, space_id)'
const newLink = '(new.id, new.account_id, new.domain_id, new.space_id)'
const queueRemoval = (rows: string) => `insert into click_removals (scope, id) ${rows} on conflict do nothing`

/** A link without clicks follows its space at once. The others wait for the writer of clicks, which moves their days. */
const follow = [
  `update link_clicks set space_id = new.space_id where link_id = new.id and not (${isTold('link_clicks')})`,
  `insert into click_moves (link_id) select link_id from link_clicks
    where link_id = new.id and ${isTold('link_clicks')} on conflict (link_id) do update set link_id = excluded.link_id`,
]

export const sqlite = [
  `${totals('integer', 'integer primary key')} strict`,
  `insert into link_clicks (link_id, account_id, domain_id, space_id, clicks, last_clicked_ms)
    select id, account_id, domain_id, space_id, clicks,
    cast(round((julianday(last_clicked_at) - 2440587.5) * 86400000) as integer) from links`,
  totalsIndex,
  limitsIndex,
  'drop index links_by_clicks',
  'alter table links drop column clicks',
  'alter table links drop column last_clicked_at',
  ...tables('integer', 'blob', ' strict, without rowid'),
  `create trigger links_counted after insert on links begin
    ${ofNewLink} values ${newLink};
  end`,
  `create trigger links_uncounted after delete on links begin
    ${queueRemoval(`select ${ofLink}, link_id from link_clicks where link_id = old.id and ${isTold('link_clicks')}`)};
    delete from link_clicks where link_id = old.id;
    delete from click_moves where link_id = old.id;
  end`,
  `create trigger links_moved after update of space_id on links when new.space_id is not old.space_id begin
    ${follow.join(';\n    ')};
  end`,
  ...[
    ['domains', ofDomain],
    ['spaces', ofSpace],
  ].map(
    ([table, scope]) => `create trigger ${table}_uncounted after delete on ${table} begin
      ${queueRemoval(`values (${scope}, old.id)`)};
    end`,
  ),
]

export const postgres = [
  totals('bigint', 'bigint primary key'),
  `insert into link_clicks (link_id, account_id, domain_id, space_id, clicks, last_clicked_ms)
    select id, account_id, domain_id, space_id, clicks,
    round(extract(epoch from last_clicked_at::timestamptz) * 1000)::bigint from links`,
  totalsIndex,
  limitsIndex,
  'drop index links_by_clicks',
  'alter table links drop column clicks, drop column last_clicked_at',
  ...tables('bigint', 'bytea', ''),
  `create function link_counted() returns trigger language plpgsql as $$
    begin
      ${ofNewLink} values ${newLink};
      return null;
    end $$`,
  'create trigger counted after insert on links for each row execute function link_counted()',
  `create function link_uncounted() returns trigger language plpgsql as $$
    begin
      with gone as (delete from link_clicks where link_id = old.id returning *)
        ${queueRemoval(`select ${ofLink}, link_id from gone where ${isTold('gone')}`)};
      delete from click_moves where link_id = old.id;
      return null;
    end $$`,
  'create trigger uncounted after delete on links for each row execute function link_uncounted()',
  `create function link_moved() returns trigger language plpgsql as $$
    begin
      ${follow.join(';\n      ')};
      return null;
    end $$`,
  `create trigger moved after update of space_id on links for each row
    when (new.space_id is distinct from old.space_id) execute function link_moved()`,
  ...[
    ['domain', ofDomain],
    ['space', ofSpace],
  ].flatMap(([kind, scope]) => [
    `create function ${kind}_uncounted() returns trigger language plpgsql as $$
      begin
        ${queueRemoval(`values (${scope}, old.id)`)};
        return null;
      end $$`,
    `create trigger uncounted after delete on ${kind}s for each row execute function ${kind}_uncounted()`,
  ]),
]
