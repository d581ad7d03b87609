/** The log of changes: an event for each change of a record, stored in the transaction of the change. */
import type { Actor } from '../access/actor.ts'
import { type Db, parts } from '../storage/port.ts'
import { CachedQuery, type ClickLevel, query } from '../storage/schema.ts'
import type { NewEvent, RecordKind } from './event.ts'

/** Events that one statement stores. */
const insertedEvents = 64

/** Stores events of an actor, in the transaction of the changes. */
export async function recordEvents(tx: Db, actor: Actor, events: readonly (NewEvent | null)[]): Promise<void> {
  const created_at = new Date().toISOString()
  const rows = events.flatMap((event) => (event === null ? [] : [rowOf(actor, event, created_at)]))
  for (const some of parts(rows, insertedEvents)) {
    const build = () => query.insertInto('events').values(some)
    await tx.execute(new CachedQuery(`insert ${some.length} events`, some.flatMap(Object.values), build))
  }
}

function rowOf(actor: Actor, event: NewEvent, created_at: string) {
  return {
    account_id: actor.account,
    batch_id: actor.batchId,
    record: event.record,
    action: event.action,
    record_id: event.id,
    record_name: event.name,
    actor_kind: actor.kind,
    actor_id: actor.id,
    actor_name: actor.name,
    request_id: actor.requestId,
    changes: event.changes && JSON.stringify(event.changes),
    kept: event.kept === undefined ? null : JSON.stringify(event.kept),
    created_at,
  }
}

/** Removes the values from all events of a record, which is deleted permanently. */
export async function eraseEvents(tx: Db, account: number, record: RecordKind, ids: readonly number[]): Promise<void> {
  for (const some of parts(ids, 256)) {
    const own = query.updateTable('events').where('account_id', '=', account).where('record', '=', record)
    await tx.execute(own.set({ changes: null, kept: null }).where('record_id', 'in', some))
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
