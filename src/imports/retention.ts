import { setTimeout as wait } from 'node:timers/promises'
import type { Storage } from '../storage/port.ts'
import { deleteSome } from './staging/store.ts'
import { deleteImport, expirePlans, findUnneeded } from './store.ts'

/** The pause between transactions, because other writers of SQLite check the lock every 2 ms. Milliseconds. */
const pauseMs = 5
/** Rows in one transaction. */
const deletedTogether = 200

/**
 * Deletes what no one needs of imports at `now`, in Unix milliseconds: plans after 7 days, and the rows of imports that can't be
 * undone any more. Stops after the current transaction once `isStopped`; the next call continues.
 */
export async function expireImports(storage: Storage, now: number, isStopped: () => boolean): Promise<void> {
  await expirePlans(storage, now)
  for (const { id, isHidden } of await findUnneeded(storage, now)) {
    while (!isStopped() && (await deleteSome(storage, id, deletedTogether))) await wait(pauseMs)
    if (isHidden && !isStopped()) await deleteImport(storage, id)
  }
}
