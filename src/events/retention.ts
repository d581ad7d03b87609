/** Retention: events are stored for some time, and what their undo needs for 30 days at most. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Db } from '../storage/port.ts'
import { clickLevels, query } from '../storage/schema.ts'
import { removeClicks } from './erasure.ts'
import { historyDuration, undoableMs } from './store.ts'

/** The pause between transactions, because other writers of SQLite check the lock every 2 ms. Milliseconds. */
const pauseMs = 5

/**
 * Deletes what must not be stored any more at `now`, in Unix milliseconds: events after `historyDays`, or never if that is 0,
 * and what their undo needs. Stops after the current transaction once `isStopped`; the next call continues.
 */
export async function expireEvents(
  db: Db,
  { historyDays, now }: { readonly historyDays: number; readonly now: number },
  isStopped: () => boolean,
): Promise<void> {
  const historyMs = historyDuration(historyDays)
  const repeat = async (step: (db: Db, until: number, now: number) => Promise<boolean>, ageMs: number) => {
    while (!isStopped() && (await step(db, now - ageMs, now))) await wait(pauseMs)
  }
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
async function expireKept(db: Db, until: number): Promise<boolean> {
  const due = query
    .selectFrom('events')
    .select(['id', 'record', 'record_id', 'action', 'undone_by'])
    .where('kept', 'is not', null)
    .where('created_at', '<=', new Date(until).toISOString())
    .orderBy('created_at')
    .limit(expiredTogether)
  // A read does not wait for other writers, and usually there are no such events.
  if ((await db.execute(due.clearLimit().limit(1))).length === 0) return false
  return db.write(async (tx) => {
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
  })
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
async function deleteOldEvents(db: Db, until: number, now: number): Promise<boolean> {
  const [before, present] = [until, now].map((ms) => new Date(ms).toISOString()) as [string, string]
  const oldest = query.selectFrom('events').select(['id', 'created_at']).orderBy('id').limit(expiredTogether)
  const past = await db.execute(oldest.where('created_at', '<=', present))
  const last = past.findLast(({ created_at }) => created_at < before)
  if (last === undefined) return false
  const some = await db.execute(oldest.where('id', '<=', last.id))
  const due = some.filter(({ created_at }) => created_at < before || created_at > present).map(({ id }) => id)
  await db.execute(query.deleteFrom('events').where('id', 'in', due))
  return true
}
