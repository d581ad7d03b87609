/**
 * Clicks apart from links: a click writes a narrow row of totals and the clicks of a day, never the wide row of a link.
 * Triggers keep the rows of totals in step with links. `analytics/day.ts` describes the JSON of a day.
 */

/** Scopes of `click_days`, in the order in which transactions lock its rows. */
const [ofLink, ofDomain, ofSpace] = [0, 1, 2]

const hasClicks = (row: string) => `${row}.clicks + ${row}.bots + ${row}.previews > 0`

interface Types {
  readonly integer: string
  readonly bytes: string
  readonly json: string
  /** Text that is compared. */
  readonly text: string
  /** What follows the columns of a table. */
  readonly end: string
  /** The same for a table that is stored in the order of its primary key, where the engine can do so. */
  readonly keyedEnd: string
}

const tables = ({ integer, bytes, json, text, end, keyedEnd }: Types) => [
  // Times are in Unix milliseconds: `forgotten_ms` is when the clicks were last deleted.
  `create table link_clicks (
    link_id ${integer} primary key,
    account_id ${integer} not null,
    domain_id ${integer} not null,
    space_id ${integer},
    clicks ${integer} not null default 0,
    bots ${integer} not null default 0,
    previews ${integer} not null default 0,
    last_clicked_ms ${integer},
    forgotten_ms ${integer}
  )${end}`,
  'create index link_clicks_by_clicks on link_clicks (account_id, clicks, link_id)',
  // Shows whether a click can reach a limit.
  'create index links_with_limit on links (id) where clicks_limit is not null',

  // Days are counted from 1970-01-01. The day of a link has the space whose day contains its clicks.
  `create table click_days (
    scope integer not null,
    day integer not null,
    id ${integer} not null,
    space_id ${integer},
    hours ${json} not null,
    breakdowns ${json} not null,
    primary key (scope, day, id)
  )${keyedEnd}`,
  // Visitors of a day: hashes under the day's salt. Both are deleted after the day.
  `create table click_visitors (
    day integer not null,
    link_id ${integer} not null,
    visitor ${integer} not null,
    primary key (day, link_id, visitor)
  )${keyedEnd}`,
  `create table click_salts (day integer not null primary key, salt ${bytes} not null)${keyedEnd}`,
  // The newest batch of each process, so that none is written twice.
  `create table click_batches (writer text not null primary key, batch ${integer} not null, day integer not null)${keyedEnd}`,
  // Links whose days must follow them to another space, and deleted records whose days must be deleted.
  `create table click_moves (link_id ${integer} not null primary key)${keyedEnd}`,
  `create table click_removals (scope integer not null, id ${integer} not null, primary key (scope, id))${keyedEnd}`,

  // Links that were deleted in the dashboard, and can be restored for a minute. Their days are deleted after that. `link`
  // is the row of the link with its totals, as JSON; `clicks` is the sum of all classes. Times are RFC 3339.
  `create table deleted_links (
    id ${integer} not null primary key,
    account_id ${integer} not null,
    deleted_at ${text} not null,
    clicks ${integer} not null,
    link text not null
  )${end}`,
  'create index deleted_links_by_time on deleted_links (deleted_at)',
]

const insertTotals = `insert into link_clicks (link_id, account_id, domain_id, space_id)
        values (new.id, new.account_id, new.domain_id, new.space_id)`
const enqueueRemoval = (rows: string) => `insert into click_removals (scope, id) ${rows} on conflict do nothing`
const enqueueDeletedLink = enqueueRemoval(
  `select ${ofLink}, old.id where old.clicks > 0 and not exists (select 1 from links where id = old.id)`,
)

/** The totals follow the link immediately. Its days follow in the background. */
const move = [
  'update link_clicks set space_id = new.space_id where link_id = new.id',
  `insert into click_moves (link_id) select link_id from link_clicks
        where link_id = new.id and ${hasClicks('link_clicks')} on conflict do nothing`,
]

const groups = [
  { table: 'domains', singular: 'domain', scope: ofDomain },
  { table: 'spaces', singular: 'space', scope: ofSpace },
]

export const sqlite = [
  ...tables({
    integer: 'integer',
    bytes: 'blob',
    json: 'text',
    text: 'text',
    end: ' strict',
    keyedEnd: ' strict, without rowid',
  }),
  `create trigger links_counted after insert on links begin
    ${insertTotals};
  end`,
  `create trigger links_uncounted after delete on links begin
    ${enqueueRemoval(`select ${ofLink}, link_id from link_clicks where link_id = old.id and ${hasClicks('link_clicks')}`)};
    delete from link_clicks where link_id = old.id;
    delete from click_moves where link_id = old.id;
  end`,
  `create trigger links_moved after update of space_id on links when new.space_id is not old.space_id begin
    ${move.join(';\n    ')};
  end`,
  ...groups.map(
    ({ table, scope }) => `create trigger ${table}_uncounted after delete on ${table} begin
      ${enqueueRemoval(`values (${scope}, old.id)`)};
    end`,
  ),
  `create trigger deleted_links_gone after delete on deleted_links begin
    ${enqueueDeletedLink};
  end`,
]

export const postgres = [
  ...tables({ integer: 'bigint', bytes: 'bytea', json: 'json', text: 'text collate "C"', end: '', keyedEnd: '' }),
  `create function link_counted() returns trigger language plpgsql as $$
    begin
      ${insertTotals};
      return null;
    end $$`,
  'create trigger counted after insert on links for each row execute function link_counted()',
  `create function link_uncounted() returns trigger language plpgsql as $$
    begin
      with gone as (delete from link_clicks where link_id = old.id returning *)
        ${enqueueRemoval(`select ${ofLink}, link_id from gone where ${hasClicks('gone')}`)};
      delete from click_moves where link_id = old.id;
      return null;
    end $$`,
  'create trigger uncounted after delete on links for each row execute function link_uncounted()',
  `create function link_moved() returns trigger language plpgsql as $$
    begin
      ${move.join(';\n      ')};
      return null;
    end $$`,
  `create trigger moved after update of space_id on links for each row
    when (new.space_id is distinct from old.space_id) execute function link_moved()`,
  ...groups.flatMap(({ table, singular, scope }) => [
    `create function ${singular}_uncounted() returns trigger language plpgsql as $$
      begin
        ${enqueueRemoval(`values (${scope}, old.id)`)};
        return null;
      end $$`,
    `create trigger uncounted after delete on ${table} for each row execute function ${singular}_uncounted()`,
  ]),
  `create function deleted_link_gone() returns trigger language plpgsql as $$
    begin
      ${enqueueDeletedLink};
      return null;
    end $$`,
  'create trigger gone after delete on deleted_links for each row execute function deleted_link_gone()',
]
