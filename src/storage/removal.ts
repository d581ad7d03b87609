/**
 * Removing a record that any number of links refer to, in steps that hold up nothing else. First the record leaves its
 * account for account 0, which no key has: from then on it is gone for all who ask. Then the links are taken off it, some
 * in each transaction, and last it is deleted. The foreign key of the links makes sure that none is forgotten. What a
 * crash interrupts is found in account 0, and goes on at the next start.
 */
import { ForeignKeyViolation } from '../errors.ts'
import type { Db } from './port.ts'
import type { Statement } from './statement.ts'

interface OutOfAccount {
  readonly id: number
}

/** The statements that remove one kind of record. Each returns the ids of the rows that it met. */
export interface Removal {
  /** Takes a few links off the record, at the time `now`. */
  readonly takeLinksOff: Statement<OutOfAccount & { readonly now: string }, OutOfAccount>
  /** Deletes the record, if it is in account 0. */
  readonly deleteOut: Statement<OutOfAccount, OutOfAccount>
  /** All records of the kind that are in account 0. */
  readonly selectOut: Statement<object, OutOfAccount>
}

/** Links that are taken off at once: they take some milliseconds. */
export const takenOffAtOnce = 40

/** Ends the removal of a record that has left its account. Throws if something else than links refers to it. */
export async function finishRemoval(db: Db, removal: Removal, id: number): Promise<void> {
  let rounds = 0
  for (;;) {
    rounds = (await takeAllOff(db, removal, id)) > 0 ? 0 : rounds + 1
    try {
      await db.writeOne(removal.deleteOut, { id })
      return
    } catch (error) {
      // A link was stored by a transaction that began before the record left: the next round takes it off.
      if (!(error instanceof ForeignKeyViolation) || rounds > 1) throw error
    }
  }
}

async function takeAllOff(db: Db, { takeLinksOff }: Removal, id: number): Promise<number> {
  let total = 0
  for (;;) {
    const taken = (await db.writeOne(takeLinksOff, { id, now: new Date().toISOString() })).length
    if (taken === 0) return total
    total += taken
  }
}

/** Ends all removals of this kind that were interrupted. */
export async function finishRemovals(db: Db, removal: Removal): Promise<void> {
  for (const { id } of await db.all(removal.selectOut, {})) await finishRemoval(db, removal, id)
}
