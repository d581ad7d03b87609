/** Retention: events are stored for some time, and what their undo needs for 30 days at most. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Db } from '../storage/port.ts'
import { deleteOldEvents, expireKept, historyMsOf, undoableMs } from './store.ts'

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
  const historyMs = historyMsOf(historyDays)
  const repeat = async (step: (db: Db, until: number, now: number) => Promise<boolean>, ageMs: number) => {
    while (!isStopped() && (await step(db, now - ageMs, now))) await wait(pauseMs)
  }
  // First, because a deleted event can't tell that the clicks of its record have to go.
  await repeat(expireKept, Math.min(undoableMs, historyMs))
  if (historyDays > 0) await repeat(deleteOldEvents, historyMs)
}
