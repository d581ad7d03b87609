import type { Dialect } from './dialect.ts'

/**
 * Returns the log of changes, and removes the tables of changes that could be reversed for a minute. Clicks of deleted records
 * stay as long as the log can restore the record.
 */
export function eventLog(dialect: Dialect): string[] {
  return [...table(dialect), ...horizon(dialect), ...replaced(dialect)]
}

/** Columns behind long ones are slow on SQLite, which reads all pages of a row up to them. */
function table({ id, integer, text, end }: Dialect): string[] {
  return [
    `create table events (
      id ${id},
      account_id ${integer} not null,
      batch_id ${text} not null,
      record ${text} not null,
      action ${text} not null,
      record_id ${integer} not null,
      undone_by ${integer},
      opens_batch ${integer},
      created_at ${text} not null,
      actor_kind ${text} not null,
      actor_id ${integer},
      actor_name text not null,
      request_id text,
      record_name text not null,
      changes text,
      kept text
    )${end}`,
    'create index events_by_account on events (account_id, id)',
    'create index events_by_record_id on events (account_id, record_id, id)',
    'create index events_by_batch_id on events (account_id, batch_id, id)',
    // Lists batches by their first events, which have a 1.
    'create index events_by_opens_batch on events (account_id, opens_batch, id)',
    'create index events_by_kept on events (created_at) where kept is not null',
    // Finds the deletions of links whose clicks arrive later.
    'create index events_by_late_click on events (record_id) where undone_by is null and kept is not null',
    // Finds which events have reversed others.
    'create index events_by_undone_by on events (undone_by) where undone_by is not null',
    // Finds the domains, spaces and tags that return before their links.
    `create index events_by_group on events (account_id, batch_id, id) where action = 'deleted' and record <> 'link'`,
    // Finds permanent deletions whose records have more events to erase.
    'create index events_by_erasure on events (id) where changes is null and kept is not null',
    // Finds who has deleted a record that is being removed.
    `create index events_by_removal on events (record_id) where action in ('deleted', 'merged') and record <> 'link'`,
  ]
}

/** Events that are being stored lock a key with their id's lower bound. It starts with this number. */
const lockSpace = 7_287

/**
 * Returns functions of PostgreSQL, whose transactions commit in another order than their ids. `events_horizon()` returns the
 * highest id below which no event can appear any more. A transaction locks the last id before it gets its own ids, and its
 * events are visible before the lock is released. Therefore the sequence must be read before the locks.
 */
function horizon({ engine }: Dialect): string[] {
  if (engine === 'sqlite') return []
  return [
    `create function last_event_id() returns bigint language sql volatile as
      'select case when is_called then last_value else 0 end from events_id_seq'`,
    `create function lock_event_ids() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock_shared((${lockSpace}::bigint << 48) | last_event_id());
      return null;
    end $$`,
    `create trigger event_ids_locked before insert on events for each statement execute function lock_event_ids()`,
    `create function events_horizon() returns bigint language plpgsql volatile as $$
    declare
      horizon bigint := last_event_id();
    begin
      return least(horizon, (
        select min(((classid::bigint & 65535) << 32) | objid::bigint) from pg_locks
          where locktype = 'advisory' and objsubid = 1 and classid::bigint >> 16 = ${lockSpace}
            and database = (select oid from pg_database where datname = current_database())
      ));
    end $$`,
  ]
}

/** Removes what the log replaces. Clicks of links that could still be restored are deleted. */
function replaced({ engine }: Dialect): string[] {
  const drop = (name: string, table: string) =>
    engine === 'sqlite' ? [`drop trigger ${name}`] : [`drop trigger ${name} on ${table}`, `drop function ${name}()`]
  const dropGroup = (group: 'domain' | 'space') => drop(`${group}_uncounted`, `${group}s`)
  const trigger = (group: 'domain' | 'space') => {
    const statement = `delete from ${group}_clicks where id = old.id`
    return engine === 'sqlite'
      ? [`create trigger ${group}_uncounted after delete on ${group}s begin ${statement}; end`]
      : [
          `create function ${group}_uncounted() returns trigger language plpgsql as $$
            begin ${statement}; return null; end $$`,
          `create trigger ${group}_uncounted after delete on ${group}s for each row execute function ${group}_uncounted()`,
        ]
  }
  // Nothing can restore records that an earlier version has begun to remove.
  const enqueueRemoved = (group: 'domain' | 'space', scope: 1 | 2) =>
    `insert into click_removals (scope, id) select ${scope}, id from ${group}s where account_id = 0 on conflict do nothing`
  return [
    // Its trigger enqueues the deletion of the clicks.
    'delete from deleted_links',
    'drop table deleted_links',
    ...(engine === 'sqlite' ? [] : ['drop function deleted_link_gone()']),
    'drop table deleted_domains',
    'drop table link_edits',
    ...drop('link_clicks_deleted', 'link_clicks'),
    enqueueRemoved('domain', 1),
    enqueueRemoved('space', 2),
    ...dropGroup('domain'),
    ...trigger('domain'),
    ...dropGroup('space'),
    ...trigger('space'),
  ]
}
