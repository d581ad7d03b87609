/** What a permanent deletion removes besides the record: the values in its events, and its clicks. */
import type { HeldJob } from '../jobs/jobs.ts'
import { endJob, ensureJob, holdJob, inSteps } from '../jobs/store.ts'
import type { RecordKind } from '../record-kinds.ts'
import { type Db, parts } from '../storage/port.ts'
import { type ClickLevel, query } from '../storage/schema.ts'
import type { GroupKind } from './event.ts'

/** Events that one transaction erases, which takes 20 ms with long values. */
const erasedTogether = 200

/**
 * Removes the values from the events of records that are deleted permanently. Does nothing and returns false if there are many
 * events, or if another transaction has locked one: it may wait for the records, which are locked. Then the event of the deletion
 * must keep `erasing` or `erasingEvents`, and `ensureErasure` must follow.
 */
export async function eraseEvents(
  tx: Db,
  account: number,
  record: RecordKind,
  ids: readonly number[],
): Promise<boolean> {
  const of = query.selectFrom('events').select('id').where('account_id', '=', account).where('record', '=', record)
  const all = await tx.execute(of.where('record_id', 'in', ids).limit(erasedTogether + 1))
  if (all.length === 0) return true
  if (all.length > erasedTogether) return false
  const own = all.map(({ id }) => id)
  const free = query.selectFrom('events').select('id').where('id', 'in', own).forUpdate().skipLocked()
  if ((await tx.execute(free)).length < all.length) return false
  await eraseSome(tx, own)
  return true
}

function eraseSome(db: Db, ids: readonly number[]) {
  return db.execute(query.updateTable('events').set({ changes: null, kept: null }).where('id', 'in', ids))
}

/** What the event of a permanent deletion keeps until all events of its record and all other traces of it are erased. */
export const erasing = 'erasing'

/** What the event of a link keeps that is deleted with its domain, whose event keeps `erasing`, until the link's events are erased. */
export const erasingEvents = 'erasing events'

/** Removes what other tables store of permanently deleted records. After an interruption, it can be repeated. */
export type EraseElsewhere = (account: number, record: 'link' | GroupKind, id: number) => Promise<void>

/** Adds the job that erases permanently deleted records of an account, in the transaction that has marked their events. */
export function ensureErasure(tx: Db, account: number): Promise<void> {
  return ensureJob(tx, { kind: 'erasure', record: 'account', record_id: account, account })
}

/**
 * Does the job that erases permanently deleted records of an account, from their events in steps, and elsewhere. Then calls `erase`,
 * which overwrites what they leave in the database, before it ends the job: a kill in between can't lose that.
 */
export async function finishErasures(
  db: Db,
  { record_id: account, lease, signal }: HeldJob,
  eraseElsewhere: EraseElsewhere,
  erase: () => Promise<void>,
): Promise<void> {
  const due = dueErasures(account).orderBy('id').limit(1)
  for (let isErased = false; ; ) {
    const deletion = await db.write(async (tx) => {
      await holdJob(tx, lease)
      const [first] = await tx.execute(due)
      // Together, so that no mark is stored in between.
      if (first === undefined && isErased) await endJob(tx, lease)
      return first
    })
    if (deletion === undefined) {
      if (isErased) return
      await erase()
      isErased = true
      continue
    }
    isErased = false
    const { id, record, record_id, kept } = deletion
    const events = query.selectFrom('events').select('id').where('account_id', '=', account)
    const own = events.where('record', '=', record).where('record_id', '=', record_id).where('id', '<>', id)
    let last = 0
    const step = async (tx: Db) => {
      const next = await tx.execute(own.where('id', '>', last).orderBy('id').limit(erasedTogether))
      if (next.length === 0) return null
      const some = next.map((event) => Number(event.id))
      await eraseSome(tx, some)
      last = some.at(-1) ?? last
      return {}
    }
    await inSteps(db, lease, step, signal)
    if (kept === JSON.stringify(erasing)) await eraseElsewhere(account, record as 'link' | GroupKind, record_id)
    await eraseSome(db, [id])
  }
}

/** Selects the events of permanent deletions that are marked. */
function dueErasures(account: number) {
  // Domains in removal still lose links.
  const removing = query.selectFrom('jobs').select('record_id').where('record', '=', 'domain')
  const columns = ['id', 'record', 'record_id', 'kept'] as const
  const begun = query.selectFrom('events').select(columns).where('account_id', '=', account)
  return (
    begun
      // The condition of an index.
      .where('changes', 'is', null)
      .where('kept', 'is not', null)
      .where(({ or, eb }) => or([eb('record', '<>', 'domain'), eb('record_id', 'not in', removing)]))
  )
}

/** Makes the background delete the clicks of records. */
export async function removeClicks(tx: Db, level: ClickLevel, ids: Iterable<number>): Promise<void> {
  const rows = [...ids].map((id) => ({ scope: level, id }))
  for (const some of parts(rows, 256)) {
    const insertion = query.insertInto('click_removals').values(some)
    await tx.execute(insertion.onConflict((conflict) => conflict.doNothing()))
  }
}
