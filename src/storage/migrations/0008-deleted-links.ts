/**
 * Links that were deleted in the dashboard, and can be restored for a minute. Their days wait with them: the triggers let go of
 * the days when a link is gone for good, and have it found again when it is back.
 */

/** Of `click_days`. */
const ofLink = 0

/** `link` is the row of the link with its totals, as JSON; `clicks` those of all classes. Times are RFC 3339. */
const table = (id: string, compared: string, end: string) => `create table deleted_links (
    id ${id} not null primary key,
    account_id ${id} not null,
    deleted_at ${compared} not null,
    clicks ${id} not null,
    link text not null
  )${end}`
const index = 'create index deleted_links_by_time on deleted_links (deleted_at)'

const isBack = 'exists (select 1 from links where id = old.id)'
const letGo = `insert into click_removals (scope, id) select ${ofLink}, old.id
      where old.clicks > 0 and not ${isBack} on conflict do nothing`

export const sqlite = [
  table('integer', 'text', ' strict'),
  index,
  // The search index looks for new links above the last id that it knows.
  `create trigger deleted_links_gone after delete on deleted_links begin
      ${letGo};
      insert into search_changes (resource, account_id, record_id)
        select 'links', old.account_id, old.id where ${isBack};
    end`,
]

export const postgres = [
  table('bigint', 'text collate "C"', ''),
  index,
  `create function deleted_link_gone() returns trigger language plpgsql as $$
    begin
      ${letGo};
      return null;
    end $$`,
  'create trigger gone after delete on deleted_links for each row execute function deleted_link_gone()',
]
