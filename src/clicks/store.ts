import { type Kysely, sql } from 'kysely'
import type { Clicks, Db, Storage } from '../storage/port.ts'
import { statement } from '../storage/statement.ts'

interface LinksTable {
  id: number
  clicks: number
  clicks_limit: number | null
  last_clicked_at: string | null
  status_due_at: string | null
}

type Tables = { links: LinksTable }

/** Adds to the clicks of links: see `Storage.addClicks`. */
export function addClicks(storage: Pick<Storage, 'addClicks'>, batch: readonly Clicks[]): Promise<boolean> {
  return storage.addClicks(batch)
}

/**
 * Takes one of the clicks that the link's limit has left, at the moment `at`, which is RFC 3339; false when none is
 * left, or the link has no limit or is gone. However many ask at the same time, on whatever nodes, no more succeed than
 * were left.
 */
export async function takeClick(db: Db, link: number, at: string): Promise<boolean> {
  const taken = await db.writeOne(oneTaken, { link, at })
  return taken.length > 0
}

/** The last one makes the link's status due. */
const oneTaken = statement((db: Kysely<Tables>, { link, at }: { link: number; at: string }) =>
  db
    .updateTable('links')
    .set((e) => ({
      clicks: e('clicks', '+', 1),
      last_clicked_at: sql<string>`case when last_clicked_at > ${at} then last_clicked_at else ${at} end`,
      status_due_at: sql<string | null>`case when clicks + 1 >= clicks_limit then '' else status_due_at end`,
    }))
    .where('id', '=', link)
    .whereRef('clicks', '<', 'clicks_limit')
    .returning('id'),
)
