/**
 * Removing a record that any number of links refer to, in steps that hold up nothing else. First the record leaves its
 * account for account 0, which no key has: from then on it is gone for all who ask. Then the links are taken off it, some
 * in each transaction, and last it is deleted. The foreign key of the links makes sure that none is forgotten. What a
 * crash interrupts is found in account 0, and goes on at the next start.
 */
import { ForeignKeyViolation } from '../errors.ts'
import type { Db } from './port.ts'
import type { Statement } from './statement.ts'

/** Whether the process is about to end: what is left goes on at the next start. */
export type IsStopped = () => boolean

interface OutOfAccount {
  readonly id: number
}

/** The statements that remove one kind of record. Each returns the ids of the rows that it met. */
export interface Removal {
  /** Takes a few links off the record, at the time `now`. */
  readonly takeLinksOff: Statement<OutOfAccount & { readonly now: string }, OutOfAccount>
  /** Any link that refers to the record. */
  readonly selectLink: Statement<OutOfAccount, OutOfAccount>
  /** Deletes the record, if it is in account 0. */
  readonly deleteOut: Statement<OutOfAccount, OutOfAccount>
  /** All records of the kind that are in account 0. */
  readonly selectOut: Statement<object, OutOfAccount>
}

/** Links that are taken off at once: they take some milliseconds. */
export const takenOffAtOnce = 40

const never: IsStopped = () => false

/**
 * Ends the removal of a record that has left its account, unless `isStopped` says so before. Several processes may do it at
 * the same time. Throws if anything other than links refers to the record.
 */
export async function finishRemoval(db: Db, removal: Removal, id: number, isStopped = never): Promise<void> {
  while (!isStopped()) {
    await takeAllOff(db, removal, id, isStopped)
    try {
      if (!isStopped()) await db.writeOne(removal.deleteOut, { id })
      return
    } catch (error) {
      // Links that another process takes off, or that were stored by transactions which had begun before, are left.
      const [link] = await db.all(removal.selectLink, { id })
      if (!(error instanceof ForeignKeyViolation) || link === undefined) throw error
    }
  }
}

async function takeAllOff(db: Db, { takeLinksOff }: Removal, id: number, isStopped: IsStopped): Promise<void> {
  let taken = takenOffAtOnce
  while (taken > 0 && !isStopped()) {
    taken = (await db.writeOne(takeLinksOff, { id, now: new Date().toISOString() })).length
  }
}

/** Ends all removals of this kind that were interrupted. Throws what the first of those that fail does, at the end. */
export async function finishRemovals(db: Db, removal: Removal, isStopped = never): Promise<void> {
  const errors: unknown[] = []
  for (const { id } of await db.all(removal.selectOut, {})) {
    await finishRemoval(db, removal, id, isStopped).catch((error) => errors.push(error))
  }
  if (errors.length > 0) throw errors[0]
}
