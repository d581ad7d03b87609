import { setTimeout as wait } from 'node:timers/promises'
import type { Db, Storage } from '../storage/port.ts'
import { deleteSome } from './staging/store.ts'
import { deleteImport, expirePlans, findUnneeded, lockUnneeded } from './store.ts'

/** The pause between transactions, because other writers of SQLite check the lock every 2 ms. Milliseconds. */
const pauseMs = 5
/** Rows in one transaction. */
const deletedTogether = 200

/**
 * Deletes what no one needs of imports at `now`, in Unix milliseconds: plans after 7 days, and the rows of imports that have failed or
 * can't be undone any more. Stops after the current transaction once `isStopped`; the next call continues.
 */
export async function expireImports(storage: Storage, now: number, isStopped: () => boolean): Promise<void> {
  await expirePlans(storage, now)
  for (const id of await findUnneeded(storage, now)) {
    while (!isStopped() && (await storage.write((tx) => deletePart(tx, id, now)))) await wait(pauseMs)
  }
}

/** Deletes a part of an import, unless it is needed by now. Returns whether there may be more. */
async function deletePart(tx: Db, id: number, now: number): Promise<boolean> {
  const locked = await lockUnneeded(tx, id, now)
  if (locked === undefined) return false
  if (await deleteSome(tx, id, deletedTogether)) return true
  if (locked.isHidden) await deleteImport(tx, id)
  return false
}
