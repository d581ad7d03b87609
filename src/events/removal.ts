/**
 * Removing a record that any number of links refer to, in steps that block nothing else:
 *
 * 1. The record moves to account 0, which has no keys, so that it no longer exists for clients. Its event is stored.
 * 2. The links are detached from it, a batch in each transaction, with an event for each.
 * 3. The record is deleted. Because of the foreign key, that fails while links refer to it.
 *
 * After a crash, the next start finds the record in account 0 and continues. A reversal in the meantime returns the record to
 * its account, which ends the removal.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { type Actor, systemActor } from '../access/actor.ts'
import { ForeignKeyViolation } from '../errors.ts'
import type { Db } from '../storage/port.ts'
import { type Query, query } from '../storage/schema.ts'
import type { GroupKind } from './event.ts'
import { findDeletion, type StoredEvent } from './store.ts'

/** Returns whether the process is about to end. The next start then continues. */
export type IsStopped = () => boolean

interface Removed {
  readonly id: number
}

/** Who deleted a record, and what for. */
export interface Deletion {
  /** Its changes of links belong to the batch of the deletion. */
  readonly actor: Actor
  /** The name of the record. */
  readonly name: string
  readonly isPermanent: boolean
}

/** Detaches a batch of links from a record in account 0, in one transaction, and returns their number. */
export type DetachLinks = (db: Db, id: number, deletion: Deletion) => Promise<number>

/** The queries that remove one kind of record. Each returns the ids of its rows. */
export interface Removal {
  readonly record: GroupKind
  readonly detachLinks: DetachLinks
  /** Selects any link that refers to the record. */
  selectLink(id: number): Query<Removed>
  /** Deletes the record if it is in account 0. */
  deleteRemoved(id: number): Query<Removed>
  /** Selects all records of the kind in account 0. */
  selectRemoved(): Query<Removed>
}

/** Returns the queries that remove one kind of record. */
export function removalOf(record: GroupKind, detachLinks: DetachLinks): Removal {
  const table = `${record}s` as const
  return {
    record,
    detachLinks,
    selectLink: (id) => selectLink(record, id),
    deleteRemoved: (id) => query.deleteFrom(table).where('id', '=', id).where('account_id', '=', 0).returning('id'),
    selectRemoved: () => query.selectFrom(table).select('id').where('account_id', '=', 0),
  }
}

function selectLink(record: GroupKind, id: number): Query<Removed> {
  if (record === 'tag') return query.selectFrom('link_tags').select('link_id as id').where('tag_id', '=', id).limit(1)
  if (record === 'space') return query.selectFrom('links').select('id').where('space_id', '=', id).limit(1)
  return query.selectFrom('addresses').select('link_id as id').where('domain_id', '=', id).limit(1)
}

/** Returns whether any link refers to a record; for a domain also by a further address. If the transaction has locked the record, no link can follow. */
export async function hasLinks(tx: Db, record: GroupKind, id: number): Promise<boolean> {
  return (await tx.execute(selectLink(record, id))).length > 0
}

/**
 * Finishes the removal that the actor has begun. Resolves when it ends, or when a request should not wait any longer.
 * `isPermanent` also erases what other tables store of the record.
 */
export type FinishRemoval = (actor: Actor, id: number, isPermanent: boolean) => Promise<void>

/** Links in one transaction, which takes a few milliseconds. */
export const detachBatchSize = 40

/** The pause between transactions, because other writers of SQLite check the lock every 2 ms. Milliseconds. */
const pauseMs = 3

const never: IsStopped = () => false

/** Finishes a removal, unless `isStopped`. Throws if anything other than links refers to the record. */
export async function finishRemoval(db: Db, removal: Removal, id: number, isStopped = never): Promise<void> {
  let isFree = false
  while (!isStopped()) {
    // In each step, because the record may have been restored and deleted again, permanently this time.
    const deletion = deletionOf(await findDeletion(db, removal.record, id))
    const detached = await removal.detachLinks(db, id, deletion)
    if (detached > 0) {
      await wait(pauseMs)
      continue
    }
    try {
      await db.execute(removal.deleteRemoved(id))
      return
    } catch (error) {
      // Another process is detaching the last links, or earlier transactions have stored new ones. It may have finished
      // since, so the record is deleted again if no link is left.
      if (!(error instanceof ForeignKeyViolation) || isFree) throw error
      isFree = (await db.execute(removal.selectLink(id))).length === 0
    }
  }
}

function deletionOf(event: StoredEvent | undefined): Deletion {
  // Earlier versions deleted records without an event.
  if (event === undefined) return { actor: systemActor(0), name: '', isPermanent: true }
  const { account, actor, batchId, requestId, name, changes } = event
  return {
    actor: { account, ...actor, scopes: ['*'], batchId, requestId },
    name,
    isPermanent: changes === null,
  }
}

/** Returns whether a removed record, which is locked, still is removed by this deletion. */
export async function isCurrent(tx: Db, record: GroupKind, id: number, { actor }: Deletion): Promise<boolean> {
  const { batchId = actor.batchId } = (await findDeletion(tx, record, id)) ?? {}
  return batchId === actor.batchId
}

/** Finishes all interrupted removals of this kind. If some fail, throws the first error at the end. */
export async function finishRemovals(db: Db, removal: Removal, isStopped = never): Promise<void> {
  const errors: unknown[] = []
  for (const { id } of await db.execute(removal.selectRemoved())) {
    await finishRemoval(db, removal, id, isStopped).catch((error) => errors.push(error))
  }
  if (errors.length > 0) throw errors[0]
}
