/** Jobs that tests work on themselves. */
import { randomUUID } from 'node:crypto'
import { ensureJob, type Lease } from '../src/jobs/store.ts'
import type { Db } from '../src/storage/port.ts'
import { query } from '../src/storage/schema.ts'

/** Takes the retention, at a time in Unix milliseconds. */
export async function retentionJob(db: Db, now: number): Promise<{ lease: Lease; signal: AbortSignal; now: number }> {
  await ensureJob(db, { kind: 'retention', record: 'instance', record_id: 0, account: null })
  const token = randomUUID()
  const own = query.updateTable('jobs').set({ token }).where('kind', '=', 'retention')
  const [row] = await db.execute(own.returning('id'))
  return { lease: { id: Number(row?.id), token }, signal: new AbortController().signal, now }
}
