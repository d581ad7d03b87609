import type { Db } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import type { WindowCount } from './rate-counter.ts'

/** Stores the counts of the process `node`. A later count of the same window replaces an earlier one. */
export function storeCounts(db: Db, node: string, counts: readonly WindowCount[]): Promise<void> {
  return db.write(async (tx) => {
    for (const { subject, endsAt, requests } of counts) {
      await tx.execute(
        query
          .insertInto('request_counts')
          .values({ subject, ends_at: endsAt, node, requests })
          .onConflict((conflict) => conflict.columns(['subject', 'ends_at', 'node']).doUpdateSet({ requests })),
      )
    }
  })
}

/** Few enough not to block the event loop. Subjects near their limits are read first. */
const maxRows = 5_000

/** Sums the highest counts of all other processes in windows that end after `now`, in Unix milliseconds. */
export async function sumRemoteCounts(db: Db, node: string, now: number): Promise<WindowCount[]> {
  const rows = await db.execute(
    query
      .selectFrom('request_counts')
      .select(['subject', 'ends_at', 'requests'])
      .where('ends_at', '>', now)
      .where('node', '<>', node)
      .orderBy('requests', 'desc')
      .limit(maxRows),
  )
  const sums = new Map<string, WindowCount>()
  for (const { subject, ends_at: endsAt, requests } of rows) {
    const name = `${endsAt} ${subject}`
    sums.set(name, { subject, endsAt, requests: requests + (sums.get(name)?.requests ?? 0) })
  }
  return [...sums.values()]
}

/** Deletes the counts of windows that ended before `then`, in Unix milliseconds. */
export async function deleteCounts(db: Db, then: number): Promise<void> {
  await db.execute(query.deleteFrom('request_counts').where('ends_at', '<', then))
}
