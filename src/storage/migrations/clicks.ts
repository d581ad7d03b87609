import type { Dialect } from './dialect.ts'

/** Scopes of `click_days`, in the order in which transactions lock its rows. */
const [ofLink, ofDomain, ofSpace] = [0, 1, 2]

/** Returns the tables for clicks, and the triggers that create and delete the totals along with links, domains and spaces. */
export function clickTables(dialect: Dialect): string[] {
  return [...tables(dialect), ...triggers(dialect)]
}

function tables({ integer, bytes, json, text, end, keyedEnd }: Dialect): string[] {
  return [
    `create table link_clicks (
      link_id ${integer} primary key,
      account_id ${integer} not null,
      domain_id ${integer} not null,
      space_id ${integer},
      clicks ${integer} not null default 0,
      bots ${integer} not null default 0,
      previews ${integer} not null default 0,
      clicks_30d ${integer} not null default 0,
      last_clicked_ms ${integer},
      forgotten_ms ${integer},
      clicked_ms ${integer} not null generated always as (coalesce(last_clicked_ms, 0)) stored
    )${end}`,
    'create index link_clicks_by_clicks on link_clicks (account_id, clicks, link_id)',
    'create index link_clicks_by_clicks_30d on link_clicks (account_id, clicks_30d, link_id)',
    'create index link_clicks_by_last_clicked_at on link_clicks (account_id, clicked_ms, link_id)',
    ...['domain', 'space'].flatMap((group) => [
      `create table ${group}_clicks (
        id ${integer} primary key,
        account_id ${integer} not null,
        clicks_30d ${integer} not null default 0
      )${end}`,
      `create index ${group}_clicks_by_clicks_30d on ${group}_clicks (account_id, clicks_30d, id)`,
    ]),
    // Shows whether a click can reach a limit.
    'create index links_with_limit on links (id) where clicks_limit is not null',

    `create table click_days (
      scope integer not null,
      day integer not null,
      id ${integer} not null,
      domain_id ${integer},
      space_id ${integer},
      hours ${json} not null,
      breakdowns ${json} not null,
      primary key (scope, day, id)
    )${keyedEnd}`,
    // Hashes of a day's visitors, which use the day's salt. Both are deleted after the day.
    `create table click_visitors (
      day_start_ms ${integer} not null,
      link_id ${integer} not null,
      visitor ${integer} not null,
      primary key (day_start_ms, link_id, visitor)
    )${keyedEnd}`,
    `create table click_salts (day_start_ms ${integer} not null primary key, salt ${bytes} not null)${keyedEnd}`,
    `create table click_batches (
      writer text not null primary key,
      batch ${integer} not null,
      day integer not null
    )${keyedEnd}`,
    `create table click_moves (link_id ${integer} not null primary key)${keyedEnd}`,
    `create table click_removals (scope integer not null, id ${integer} not null, primary key (scope, id))${keyedEnd}`,

    // `link` is JSON of the link's row and totals, and `clicks` the sum of all classes.
    `create table deleted_links (
      id ${integer} not null primary key,
      account_id ${integer} not null,
      edit_id ${integer} not null,
      deleted_at ${text} not null,
      clicks ${integer} not null,
      link text not null
    )${end}`,
    'create index deleted_links_by_time on deleted_links (deleted_at)',
    'create index deleted_links_by_edit on deleted_links (edit_id)',
  ]
}

function triggers({ trigger }: Dialect): string[] {
  const enqueueRemoval = (rows: string) => `insert into click_removals (scope, id) ${rows} on conflict do nothing`
  return [
    ...trigger('link_counted', 'after insert on links', [
      `insert into link_clicks (link_id, account_id, domain_id, space_id)
        values (new.id, new.account_id, new.domain_id, new.space_id)`,
    ]),
    ...trigger('link_uncounted', 'after delete on links', [
      'delete from link_clicks where link_id = old.id',
      'delete from click_moves where link_id = old.id',
    ]),
    ...trigger(
      'link_clicks_deleted',
      'after delete on link_clicks',
      [enqueueRemoval(`values (${ofLink}, old.link_id)`)],
      'old.clicks + old.bots + old.previews > 0',
    ),
    // The totals follow the link immediately. Its days follow in the background.
    ...trigger(
      'link_moved',
      'after update of domain_id, space_id on links',
      [
        `update link_clicks set domain_id = new.domain_id, space_id = new.space_id where link_id = new.id`,
        `insert into click_moves (link_id) select link_id from link_clicks
          where link_id = new.id and clicks + bots + previews > 0 on conflict do nothing`,
      ],
      'new.domain_id is distinct from old.domain_id or new.space_id is distinct from old.space_id',
    ),
    ...(['domain', 'space'] as const).flatMap((group) => [
      ...trigger(`${group}_counted`, `after insert on ${group}s`, [
        `insert into ${group}_clicks (id, account_id) values (new.id, new.account_id)`,
      ]),
      ...trigger(`${group}_clicks_moved`, `after update of account_id on ${group}s`, [
        `update ${group}_clicks set account_id = new.account_id where id = new.id`,
      ]),
      ...trigger(`${group}_uncounted`, `after delete on ${group}s`, [
        `delete from ${group}_clicks where id = old.id`,
        enqueueRemoval(`values (${group === 'domain' ? ofDomain : ofSpace}, old.id)`),
      ]),
    ]),
    ...trigger('deleted_link_gone', 'after delete on deleted_links', [
      enqueueRemoval(
        `select ${ofLink}, old.id where old.clicks > 0 and not exists (select 1 from links where id = old.id)`,
      ),
    ]),
  ]
}
