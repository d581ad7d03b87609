/**
 * Removing a record that any number of links refer to, in steps that block nothing else:
 *
 * 1. The record leaves its account, so that it no longer exists for clients. Its event and the job of its removal are stored.
 * 2. The links are detached from it, a batch in each transaction, with an event for each.
 * 3. The record is deleted together with the job. Because of the foreign key, that fails while links refer to it.
 *
 * A reversal in the meantime returns the record to its account, and cancels the job.
 */
import { type Actor, systemActor } from '../access/actor.ts'
import { ForeignKeyViolation } from '../errors.ts'
import type { HeldJob } from '../jobs/jobs.ts'
import { endJob, inSteps } from '../jobs/store.ts'
import type { Db } from '../storage/port.ts'
import { type Query, query } from '../storage/schema.ts'
import { ensureErasure } from './erasure.ts'
import type { GroupKind } from './event.ts'
import { findDeletion, type StoredEvent } from './store.ts'

interface Removed {
  readonly id: number
}

/** Who deleted a record, and what for. */
export interface Deletion {
  /** Its changes of links belong to the batch of the deletion. */
  readonly actor: Actor
  /** The record's name. */
  readonly name: string
  readonly isPermanent: boolean
}

/** Detaches a batch of links from a record that is being removed, and returns their number. */
export type DetachLinks = (tx: Db, id: number, deletion: Deletion) => Promise<number>

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

/** Does the job of a removal. Throws if anything other than links refers to the record. */
export async function removeRecord(
  db: Db,
  { record_id: id, record, lease, signal }: HeldJob,
  detachLinks: DetachLinks,
) {
  const group = record as GroupKind
  const deletion = deletionOf(await findDeletion(db, group, id))
  const step = async (tx: Db) => {
    if ((await detachLinks(tx, id, deletion)) > 0) return {}
    await tx.execute(query.deleteFrom(`${group}s`).where('id', '=', id).where('account_id', '=', 0))
    await endJob(tx, lease)
    if (deletion.isPermanent) await ensureErasure(tx, deletion.actor.account)
    return null
  }
  for (let isFree = false; ; ) {
    try {
      return await inSteps(db, lease, step, signal)
    } catch (error) {
      // Earlier transactions have stored new links, and may have deleted them since. Then the record is deleted again.
      if (!(error instanceof ForeignKeyViolation) || isFree) throw error
      isFree = !(await hasLinks(db, group, id))
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
