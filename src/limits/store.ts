import type { Kysely } from 'kysely'
import type { Db } from '../storage/port.ts'
import { statement } from '../storage/statement.ts'
import type { Tally } from './counts.ts'

interface RequestCountsTable {
  /** Of what kind the subject is, and which: `key:12`. */
  subject: string
  /** The end of the window, in Unix milliseconds. */
  ends_at: number
  /** The process that counted. */
  node: string
  requests: number
}

type Tables = { request_counts: RequestCountsTable }

/** Says what `node` has counted so far; a later count of the same window takes the place of an earlier one. */
export function tellCounts(db: Db, node: string, counts: readonly Tally[]): Promise<void> {
  return db.write(async (tx) => {
    for (const { subject, endsAt, requests } of counts) await tx.all(told, { subject, endsAt, node, requests })
  })
}

/** What all other nodes have counted together in the windows that end after `now`: the greatest counts, where they are many. */
export async function countsElsewhere(db: Db, node: string, now: number): Promise<Tally[]> {
  const rows = await db.all(elsewhere, { node, now })
  const sums = new Map<string, Tally>()
  for (const { subject, ends_at: endsAt, requests } of rows) {
    const name = `${endsAt} ${subject}`
    sums.set(name, { subject, endsAt, requests: requests + (sums.get(name)?.requests ?? 0) })
  }
  return [...sums.values()]
}

/** Forgets the windows that ended before `then`. */
export async function forgetCounts(db: Db, then: number): Promise<void> {
  await db.writeOne(forgotten, { then })
}

/** So few that reading them holds no request up; those nearest to their limits come first. */
const maxHeard = 5_000

const told = statement((db: Kysely<Tables>, { subject, endsAt, node, requests }: Tally & { node: string }) =>
  db
    .insertInto('request_counts')
    .values({ subject, ends_at: endsAt, node, requests })
    .onConflict((known) => known.columns(['subject', 'ends_at', 'node']).doUpdateSet({ requests })),
)

const elsewhere = statement((db: Kysely<Tables>, { node, now }: { node: string; now: number }) =>
  db
    .selectFrom('request_counts')
    .select(['subject', 'ends_at', 'requests'])
    .where('ends_at', '>', now)
    .where('node', '<>', node)
    .orderBy('requests', 'desc')
    .limit(maxHeard),
)

const forgotten = statement((db: Kysely<Tables>, { then }: { then: number }) =>
  db.deleteFrom('request_counts').where('ends_at', '<', then),
)
