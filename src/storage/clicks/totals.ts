import type { Kysely } from 'kysely'
import { statement } from '../statement.ts'

/** The clicks of a link, and the time of a person's last one in Unix milliseconds. */
export interface LinkTotals {
  readonly link_id: number
  readonly clicks: number
  readonly bots: number
  readonly previews: number
  readonly last_clicked_ms: number | null
}

/** Sets the totals of a link, whatever its days are. */
export const setTotals = statement((db: Kysely<{ link_clicks: LinkTotals }>, totals: LinkTotals) =>
  db
    .updateTable('link_clicks')
    .set({
      clicks: totals.clicks,
      bots: totals.bots,
      previews: totals.previews,
      last_clicked_ms: totals.last_clicked_ms,
    })
    .where('link_id', '=', totals.link_id),
)
