/** Retention: events are stored for some time, and what their undo needs for 30 days at most. */
import type { HeldJob } from '../jobs/jobs.ts'
import { inSteps } from '../jobs/store.ts'
import type { Db } from '../storage/port.ts'
import { clickLevels, query } from '../storage/schema.ts'
import { removeClicks } from './erasure.ts'
import { historyDuration, undoableMs } from './store.ts'

/**
 * Deletes what must not be stored any more at the time of a job: events after `historyDays`, or never if that is 0, and what
 * their undo needs.
 */
export async function expireEvents(
  db: Db,
  { lease, signal, now }: Pick<HeldJob, 'lease' | 'signal' | 'now'>,
  historyDays: number,
): Promise<void> {
  const historyMs = historyDuration(historyDays)
  const repeat = (step: (tx: Db, until: number, now: number) => Promise<boolean>, ageMs: number) =>
    inSteps(db, lease, async (tx) => ((await step(tx, now - ageMs, now)) ? {} : null), signal)
  // First, because a deleted event can't tell that the clicks of its record have to go.
  await repeat(expireKept, Math.min(undoableMs, historyMs))
  if (historyDays > 0) await repeat(deleteOldEvents, historyMs)
}

/** Events in one transaction of the retention, which no request waits for. */
const expiredTogether = 200

/**
 * Removes what reversals need from some events up to a time, in Unix milliseconds. Clicks of deleted records that nothing can
 * restore are deleted in the background. Returns whether there may be more such events.
 */
async function expireKept(tx: Db, until: number): Promise<boolean> {
  const due = query
    .selectFrom('events')
    .select(['id', 'record', 'record_id', 'action', 'undone_by'])
    .where('kept', 'is not', null)
    .where('created_at', '<=', new Date(until).toISOString())
    .orderBy('created_at')
    .limit(expiredTogether)
  // An undo may hold some of them. They expire in the next run.
  const rows = await tx.execute(due.forUpdate().skipLocked())
  if (rows.length === 0) return false
  const ids = rows.map(({ id }) => id)
  await tx.execute(query.updateTable('events').set({ kept: null }).where('id', 'in', ids))
  const deleted = rows.filter(({ action, undone_by }) => action === 'deleted' && undone_by === null)
  for (const record of ['link', 'domain', 'space'] as const) {
    const own = deleted.filter((row) => row.record === record).map((row) => Number(row.record_id))
    if (own.length > 0) await removeClicks(tx, clickLevels[record], await idsWithoutRecord(tx, record, own))
  }
  return rows.length === expiredTogether
}

/** Returns which of these ids no record has. */
async function idsWithoutRecord(tx: Db, record: 'link' | 'domain' | 'space', ids: readonly number[]) {
  const present = await tx.execute(query.selectFrom(`${record}s`).select('id').where('id', 'in', ids))
  return new Set(ids).difference(new Set(present.map(({ id }) => Number(id))))
}

/**
 * Deletes some of the oldest events, from before a time in Unix milliseconds. A wrong clock may have dated events after `now`:
 * these are deleted with the old events that follow them. Returns whether there may be more.
 */
async function deleteOldEvents(tx: Db, until: number, now: number): Promise<boolean> {
  const [before, present] = [until, now].map((ms) => new Date(ms).toISOString()) as [string, string]
  const oldest = query.selectFrom('events').select(['id', 'created_at']).orderBy('id').limit(expiredTogether)
  const past = await tx.execute(oldest.where('created_at', '<=', present))
  const last = past.findLast(({ created_at }) => created_at < before)
  if (last === undefined) return false
  const some = await tx.execute(oldest.where('id', '<=', last.id))
  const due = some.filter(({ created_at }) => created_at < before || created_at > present).map(({ id }) => id)
  await tx.execute(query.deleteFrom('events').where('id', 'in', due))
  return true
}
