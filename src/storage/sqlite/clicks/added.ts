import type { DatabaseSync } from 'node:sqlite'
import type { Clicks } from '../../port.ts'
import { query } from '../prepared.ts'

const added = `
  update link_clicks set
    clicks = clicks + :clicks,
    last_clicked_ms = max(coalesce(last_clicked_ms, :at), :at)
  where link_id = :id`

/** By the index of links with a limit: the row of a link without one is not touched. */
const reached = `
  update links indexed by links_with_limit set status_due_at = ''
  where id = :id and clicks_limit is not null
    and clicks_limit <= (select clicks from link_clicks where link_id = :id)
    and clicks_limit > (select clicks from link_clicks where link_id = :id) - :clicks`

/** Adds to the clicks of a link, unless it is gone. Clicks that reach its limit make its status due. */
export function addClicksTo(database: DatabaseSync, { id, clicks, lastClickedAt }: Clicks): void {
  query(database, added, { id, clicks, at: lastClickedAt })
  query(database, reached, { id, clicks })
}
