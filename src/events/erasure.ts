/** What a permanent deletion removes besides the record: the values in its events, and its clicks. */
import { setTimeout as wait } from 'node:timers/promises'
import type { RecordKind } from '../record-kinds.ts'
import { type Db, parts } from '../storage/port.ts'
import { type ClickLevel, query } from '../storage/schema.ts'
import type { GroupKind } from './event.ts'

/** Events that one transaction erases, which takes 20 ms with long values. */
const erasedTogether = 200

/**
 * Removes the values from the events of records that are deleted permanently. Does nothing and returns false if there are many
 * events, or if another transaction has locked one: it may wait for the records, which are locked. Then the event of the deletion
 * must keep `erasing` or `erasingEvents`, and `finishErasures` must follow.
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

/** The pause between transactions, because other writers of SQLite check the lock every 2 ms. Milliseconds. */
const pauseMs = 3

/**
 * Erases permanently deleted records from their events, in steps, and elsewhere, unless `isStopped`. For all accounts if
 * `account` is null.
 */
export async function finishErasures(
  db: Db,
  account: number | null,
  isStopped: () => boolean,
  eraseElsewhere: EraseElsewhere,
): Promise<void> {
  const columns = ['id', 'account_id', 'record', 'record_id', 'kept'] as const
  const all = query.selectFrom('events').select(columns)
  // Domains in removal still lose links.
  const removing = query.selectFrom('domains').select('id').where('account_id', '=', 0)
  const begun = all
    // The condition of an index.
    .where('changes', 'is', null)
    .where('kept', 'is not', null)
    .where(({ or, eb }) => or([eb('record', '<>', 'domain'), eb('record_id', 'not in', removing)]))
  const due = account === null ? begun : begun.where('account_id', '=', account)
  for (;;) {
    const [deletion] = await db.execute(due.orderBy('id').limit(1))
    if (deletion === undefined) return
    const { id, account_id, record, record_id, kept } = deletion
    const events = query.selectFrom('events').select('id').where('account_id', '=', account_id)
    const own = events.where('record', '=', record).where('record_id', '=', record_id).where('id', '<>', id)
    for (let some: number[] = []; ; ) {
      if (isStopped()) return
      const next = own.where('id', '>', some.at(-1) ?? 0).orderBy('id')
      some = (await db.execute(next.limit(erasedTogether))).map((event) => Number(event.id))
      if (some.length === 0) break
      await eraseSome(db, some)
      await wait(pauseMs)
    }
    if (kept === JSON.stringify(erasing)) {
      await eraseElsewhere(account_id, record as 'link' | GroupKind, record_id)
    }
    await eraseSome(db, [id])
  }
}

/** Makes the background delete the clicks of records. */
export async function removeClicks(tx: Db, level: ClickLevel, ids: Iterable<number>): Promise<void> {
  const rows = [...ids].map((id) => ({ scope: level, id }))
  for (const some of parts(rows, 256)) {
    const insertion = query.insertInto('click_removals').values(some)
    await tx.execute(insertion.onConflict((conflict) => conflict.doNothing()))
  }
}
