import type { Db } from '../storage/port.ts'
import { query } from '../storage/schema.ts'
import type { Tally } from './counts.ts'

/** Stores what `node` has counted so far. A later count of the same window replaces an earlier one. */
export function tellCounts(db: Db, node: string, counts: readonly Tally[]): Promise<void> {
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

/** Reading so many blocks no request. The subjects that are nearest to their limits come first. */
const maxHeard = 5_000

/** Sums the counts of all other nodes in the windows that end after `now`, in Unix milliseconds. Reads the highest counts. */
export async function countsElsewhere(db: Db, node: string, now: number): Promise<Tally[]> {
  const rows = await db.execute(
    query
      .selectFrom('request_counts')
      .select(['subject', 'ends_at', 'requests'])
      .where('ends_at', '>', now)
      .where('node', '<>', node)
      .orderBy('requests', 'desc')
      .limit(maxHeard),
  )
  const sums = new Map<string, Tally>()
  for (const { subject, ends_at: endsAt, requests } of rows) {
    const name = `${endsAt} ${subject}`
    sums.set(name, { subject, endsAt, requests: requests + (sums.get(name)?.requests ?? 0) })
  }
  return [...sums.values()]
}

/** Deletes the counts of windows that ended before `then`, in Unix milliseconds. */
export async function forgetCounts(db: Db, then: number): Promise<void> {
  await db.execute(query.deleteFrom('request_counts').where('ends_at', '<', then))
}
