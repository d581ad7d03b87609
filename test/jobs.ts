/** Jobs that tests work on themselves. */
import { randomUUID } from 'node:crypto'
import { ensureJob, type Lease } from '../src/jobs/store.ts'
import type { Db, Storage } from '../src/storage/port.ts'
import { query } from '../src/storage/schema.ts'
import { actionsOn } from './actions.ts'
import { eventually } from './processes.ts'

/** Takes the retention, at a time in Unix milliseconds. */
export async function retentionJob(db: Db, now: number): Promise<{ lease: Lease; signal: AbortSignal; now: number }> {
  await ensureJob(db, { kind: 'retention', record: 'instance', record_id: 0, account: null })
  const token = randomUUID()
  const own = query.updateTable('jobs').set({ token }).where('kind', '=', 'retention')
  await db.execute(own)
  return { lease: { token }, signal: new AbortController().signal, now }
}

/** Finishes all jobs on records, and waits for the jobs of a running app. */
export async function finishJobs(storage: Storage): Promise<void> {
  const left = query.selectFrom('jobs').select('id').where('kind', '<>', 'retention').limit(1)
  await eventually(async () => {
    await actionsOn(storage).jobs.finish()
    return (await storage.execute(left)).length === 0
  })
}
