/**
 * Counts stored and deleted records once per statement on PostgreSQL. A trigger for each row created a new version of the
 * total for every row, and each version took longer to find. `insert into links … select … from generate_series(1, 100000)`
 * took 139 s, and takes 5 s with these triggers.
 *
 * `record_stored` and `record_deleted` stay: they count domains and spaces that move to another account. PostgreSQL has no
 * transition tables for triggers on an update of certain columns.
 */

/** SQLite changes a total in place, so its triggers for each row stay. */
export const sqlite: readonly string[] = []

export const postgres = [
  counting('records_stored', '+'),
  counting('records_deleted', '-'),
  ...['domains', 'spaces', 'links'].flatMap((resource) => [
    `create or replace trigger stored after insert on ${resource} referencing new table as changed
      for each statement execute function records_stored()`,
    `create or replace trigger deleted after delete on ${resource} referencing old table as changed
      for each statement execute function records_deleted()`,
  ]),
]

/**
 * Returns a trigger function that counts the rows of `changed`. Nearly always they belong to one account whose part
 * exists, and updating it costs less than an insert that finds a conflict.
 */
function counting(name: string, sign: '+' | '-'): string {
  return `create function ${name}() returns trigger language plpgsql as $$
    begin
      update record_counts set total = total ${sign} (select count(*) from changed)
        where (account_id, resource, part) = (
          (select min(account_id) from changed having min(account_id) = max(account_id)),
          tg_table_name,
          pg_backend_pid() % 16
        );
      if not found then
        insert into record_counts
          select account_id, tg_table_name, pg_backend_pid() % 16, ${sign} count(*)
            from changed group by account_id order by account_id
          on conflict (account_id, resource, part) do update set total = record_counts.total + excluded.total;
      end if;
      return null;
    end $$`
}
