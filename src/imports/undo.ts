/** The undo of an import is the undo of its batch. Its state follows from the events of the batch. */

import type { Actor } from '../access/actor.ts'
import { uncountDeleted } from '../analytics/deleted-links.ts'
import { Failure, importConflict } from '../errors.ts'
import type { Values } from '../events/event.ts'
import { recordEvents } from '../events/log.ts'
import { requireValuesAfter } from '../events/previous-values.ts'
import type { Reversals } from '../events/reversal.ts'
import { findOriginals, readEvents, type StoredEvent } from '../events/store.ts'
import type { HeldJob } from '../jobs/jobs.ts'
import { cancelJob, endJob, holdJob, saveProgress } from '../jobs/store.ts'
import { describeAddresses, findAddresses } from '../links/addresses.ts'
import { linkEvents } from '../links/schema.ts'
import { linkRecords } from '../links/store.ts'
import { type Db, type Storage, parts as slices } from '../storage/port.ts'
import { lockBatches, type StoredImport, saveBatchState } from './store.ts'

/** Events that are compared with their links together. */
const comparedTogether = 100

/**
 * Throws `import_edited` if a link of the import has other values than the import has given it, or other addresses. Deleted links
 * don't count.
 */
export async function requireUnedited(db: Db, account: number, { batches }: StoredImport): Promise<void> {
  for (const batch of batches) await requireUneditedSince(db, account, batch)
}

async function requireUneditedSince(db: Db, account: number, batchId: string): Promise<void> {
  const left = new Map<number, Set<string>>()
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const events = await readEvents(db, account, batchId, before, comparedTogether)
    if (events.length === 0) return
    before = events.at(-1)?.id ?? 0
    const ofLinks = events.filter(({ record, undoneBy }) => record === 'link' && undoneBy === null)
    const current = await currentValues(db, account, [...new Set(ofLinks.map(({ recordId }) => recordId))])
    for (const event of ofLinks) compare(event, current.get(event.recordId), left)
  }
}

/** Compares an event with the values of its link. Events come from the last one, which has the values that the import left. */
function compare(event: StoredEvent, values: Values | undefined, left: Map<number, Set<string>>): void {
  const known = left.getOrInsertComputed(event.recordId, () => new Set())
  if (values !== undefined) requireUnchanged(event, values, known)
  if (event.action === 'created') left.delete(event.recordId)
  else for (const field of Object.keys(event.changes ?? {})) known.add(field)
}

async function currentValues(db: Db, account: number, ids: readonly number[]): Promise<ReadonlyMap<number, Values>> {
  const links = await linkRecords.findAll(db, account, ids)
  const further = await findAddresses(db, account, ids)
  const values = [...links].map(([id, { record }]) => {
    const own = further.get(id) ?? []
    return [id, linkEvents.valuesOf({ ...record, addresses: describeAddresses(own, own).after })] as const
  })
  return new Map(values)
}

function requireUnchanged(event: StoredEvent, values: Values, known: ReadonlySet<string>): void {
  try {
    requireValuesAfter(event, values, known)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw editedSince(event.name)
  }
}

function editedSince(link: string): Failure {
  const message = `The link ${link} was edited after the import. Undo that change first, or delete the links by hand.`
  return importConflict('import_edited', message)
}

/**
 * Does the job that undoes an import. Throws `import_edited` if a link was edited meanwhile: then the other links are deleted, and the
 * import stays applied.
 */
export async function undoImport(
  storage: Storage,
  { account, record_id: id, actor, lease, signal, ...job }: HeldJob,
  { batches }: StoredImport,
  reversals: Reversals,
): Promise<void> {
  if (actor === null || account === null) return
  let failed: string | undefined
  let { done } = job
  // The actor has all scopes: an undo of an import also deletes its tags.
  for (const batch of batches.toReversed()) {
    for await (const results of reversals.undoBatch(actor, batch, { lease })) {
      // New tags stay if other links have them by now.
      const left = results.filter(({ event, failure }) => failure !== null && event.record === 'link')
      const present = await linkRecords.findAll(
        storage,
        account,
        left.map(({ event }) => event.recordId),
      )
      failed ??= left.find(({ event }) => present.has(event.recordId))?.event.name
      const created = left.filter(({ event }) => event.action === 'created').map(({ event }) => event.recordId)
      for (const some of slices(created, 128)) await storage.write((tx) => uncountDeleted(tx, some))
      done += results.length - left.length
      await storage.write((tx) => saveProgress(tx, lease, { done }))
      signal.throwIfAborted()
    }
  }
  if (failed !== undefined) throw editedSince(failed)
  await storage.write(async (tx) => {
    await holdJob(tx, lease)
    // The other events can't be undone: their links were deleted by hand, or other links have their tags by now.
    const [left] = await lockBatches(tx, account, batches.slice(0, 1))
    if (left !== undefined && left.state !== 'undone') await saveUndone(tx, actor, left)
    await endJob(tx, lease)
    await cancelJob(tx, { record: 'proof', record_id: id })
  })
}

type LockedBatch = Awaited<ReturnType<typeof lockBatches>>[number]

/** Stores that an import is undone. No proof compares it any more. */
async function saveUndone(tx: Db, actor: Actor, { id, source }: LockedBatch): Promise<void> {
  await cancelJob(tx, { record: 'proof', record_id: id })
  await saveBatchState(tx, id, { state: 'undone', open_events: 0, returned_in: null })
  await recordEvents(tx, actor, [{ record: 'import', action: 'undone', id, name: source, changes: {} }])
}

/**
 * Updates the states of imports, in the transaction that has reversed events. An import is undone as soon as all events of its batch
 * are undone. It is applied again if one of these reversals is undone.
 */
export async function followReversals(tx: Db, actor: Actor, reversed: readonly StoredEvent[]): Promise<void> {
  const changes = await countChanges(tx, actor.account, reversed)
  if (changes.size === 0) return
  for (const found of await lockBatches(tx, actor.account, [...changes.keys()])) {
    await changeBatch(tx, actor, found, changes.get(found.batch_id) ?? 0)
  }
}

/** Returns by batch how the number of its events that are not undone changes. */
async function countChanges(tx: Db, account: number, reversed: readonly StoredEvent[]): Promise<Map<string, number>> {
  const changes = new Map<string, number>()
  let events: readonly Pick<StoredEvent, 'id' | 'record' | 'batchId'>[] = reversed.filter(isCounted)
  for (let sign = -1; events.length > 0; sign = -sign) {
    for (const { batchId } of events) changes.set(batchId, (changes.get(batchId) ?? 0) + sign)
    // A reversal of a reversal returns what the first event did.
    events = await findOriginals(
      tx,
      account,
      events.map(({ id }) => id),
    )
  }
  return changes
}

async function changeBatch(tx: Db, actor: Actor, found: LockedBatch, change: number): Promise<void> {
  const open_events = Math.max(0, found.open_events + change)
  if (change > 0) {
    const returned = new Set<string>(JSON.parse(found.returned_in ?? '[]')).add(actor.batchId)
    const state = found.applied_at === null ? 'applying' : 'applied'
    await saveBatchState(tx, found.id, { state, open_events, returned_in: JSON.stringify([...returned]) })
  } else if (open_events > 0 || found.state === 'undone') {
    await saveBatchState(tx, found.id, { open_events })
  } else {
    await saveUndone(tx, actor, found)
  }
}

function isCounted({ record }: Pick<StoredEvent, 'record'>): boolean {
  return record === 'link' || record === 'tag'
}
