import { type Kysely, sql } from 'kysely'
import type { Clicks, Db, Storage } from '../storage/port.ts'
import { statement } from '../storage/statement.ts'

interface LinksTable {
  id: number
  clicks_limit: number | null
  status: string
  status_due_at: string | null
}

interface LinkClicksTable {
  link_id: number
  clicks: number
  last_clicked_ms: number | null
}

type Tables = { links: LinksTable; link_clicks: LinkClicksTable }

/** Adds to the clicks of links: see `Storage.addClicks`. */
export function addClicks(storage: Pick<Storage, 'addClicks'>, batch: readonly Clicks[]): Promise<boolean> {
  return storage.addClicks(batch)
}

/**
 * Takes one of the clicks that the link's limit has left, at the moment `at`, in Unix milliseconds; false when none
 * is left, or the link has no limit or is gone. However many ask at the same time, on whatever nodes, no more succeed than
 * were left.
 */
export async function takeClick(db: Db, link: number, at: number): Promise<boolean> {
  const taken = await db.writeOne(oneTaken, { link, at, left: 1 })
  return taken.length > 0 || db.write((tx) => takeLast(tx, link, at))
}

/** The last click makes the link's status due. */
async function takeLast(tx: Db, link: number, at: number): Promise<boolean> {
  const taken = await tx.all(oneTaken, { link, at, left: 0 })
  await tx.all(statusDue, { link })
  return taken.length > 0
}

interface Taking {
  readonly link: number
  readonly at: number
  /** The least number of clicks that the limit leaves then. */
  readonly left: number
}

const oneTaken = statement((db: Kysely<Tables>, { link, at, left }: Taking) =>
  db
    .updateTable('link_clicks')
    .set((e) => ({
      clicks: e('clicks', '+', 1),
      last_clicked_ms: sql<number>`case when last_clicked_ms > ${at} then last_clicked_ms else ${at} end`,
    }))
    .where('link_id', '=', link)
    .where(sql<boolean>`clicks + ${left} < (select clicks_limit from links where id = link_id)`)
    .returning('link_id'),
)

const statusDue = statement((db: Kysely<Tables>, { link }: { link: number }) =>
  db.updateTable('links').set({ status_due_at: '' }).where('id', '=', link).where('status', '<>', 'expired'),
)
