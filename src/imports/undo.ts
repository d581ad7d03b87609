/** Undoes imports: reverses the events of their batch. */

import type { Actor } from '../access/actor.ts'
import { uncountDeleted } from '../analytics/deleted-links.ts'
import { Failure, importConflict } from '../errors.ts'
import type { Values } from '../events/event.ts'
import { recordEvents } from '../events/log.ts'
import { requireValuesAfter } from '../events/previous-values.ts'
import type { Reversals } from '../events/reversal.ts'
import { readEvents, type StoredEvent } from '../events/store.ts'
import { describeAddresses, findAddresses } from '../links/addresses.ts'
import { linkEvents } from '../links/schema.ts'
import { linkRecords } from '../links/store.ts'
import { type Db, type Storage, parts as slices } from '../storage/port.ts'
import { advance, jobEnd, type Lease, type StoredImport } from './store.ts'

/** Events that are compared with their links together. */
const comparedTogether = 100

/**
 * Throws `import_edited` if a link of the import has other values than the import has given it, or other addresses. Deleted links
 * don't count.
 */
export async function requireUnedited(db: Db, account: number, { batchId }: StoredImport): Promise<void> {
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

interface UndoParts {
  readonly storage: Storage
  readonly reversals: Reversals
  readonly isStopped: () => boolean
}

/**
 * Undoes an import. After an interruption, a repetition continues. Throws `import_edited` if a link was edited meanwhile: then
 * the import is no longer being undone, and its other links are deleted.
 */
export async function undoImport(
  actor: Actor,
  { id, source, batchId, applied_at }: StoredImport,
  lease: Lease,
  parts: UndoParts,
) {
  const { storage, reversals, isStopped } = parts
  let failed: string | undefined
  await storage.write((tx) => advance(tx, lease, { state: 'undoing' }))
  // Whoever may undo imports may delete the tags that they have created.
  const trusted: Actor = { ...actor, scopes: ['*'] }
  for await (const results of reversals.undoBatch(trusted, batchId)) {
    // New tags stay if other links have them by now.
    const left = results.filter(({ event, failure }) => failure !== null && event.record === 'link')
    const present = await linkRecords.findAll(
      storage,
      actor.account,
      left.map(({ event }) => event.recordId),
    )
    failed ??= left.find(({ event }) => present.has(event.recordId))?.event.name
    const created = left.filter(({ event }) => event.action === 'created').map(({ event }) => event.recordId)
    for (const some of slices(created, 128)) {
      await storage.write(async (tx) => {
        await advance(tx, lease, {})
        await uncountDeleted(tx, some)
      })
    }
    if (isStopped()) return
  }
  if (failed !== undefined) {
    await storage.write((tx) => advance(tx, lease, { state: applied_at === null ? 'applying' : 'applied' }))
    throw editedSince(failed)
  }
  await storage.write(async (tx) => {
    const event = { record: 'import', action: 'undone', id, name: source, changes: {} } as const
    await recordEvents(tx, actor, [event])
    await advance(tx, lease, { state: 'undone', ...jobEnd })
  })
}
