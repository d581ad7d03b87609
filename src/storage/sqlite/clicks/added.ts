import type { DatabaseSync } from 'node:sqlite'
import type { Clicks } from '../../port.ts'
import { query } from '../prepared.ts'

const added = `
  update links set
    clicks = clicks + :clicks,
    last_clicked_at = max(coalesce(last_clicked_at, ''), :at),
    status_due_at = iif(clicks < clicks_limit and clicks + :clicks >= clicks_limit, '', status_due_at)
  where id = :id`

/** Adds to the clicks of a link, unless it is gone. */
export function addClicksTo(database: DatabaseSync, { id, clicks, lastClickedAt }: Clicks): void {
  query(database, added, { id, clicks, at: new Date(lastClickedAt).toISOString() })
}
