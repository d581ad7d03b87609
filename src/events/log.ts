/** The log of changes: an event for each change of a record, stored in the transaction of the change. */
import { type Db, parts } from '../storage/port.ts'
import { CachedQuery, query } from '../storage/schema.ts'
import type { NewEvent } from './event.ts'
import { formatChanges } from './stored-changes.ts'

/** What the log stores of an `Actor`. */
export interface Author {
  readonly account: number
  readonly kind: string
  readonly id: number | null
  readonly name: string
  readonly requestId: string | null
  readonly batchId: string
}

/** An event, and its author, if it is not the actor. */
interface AuthoredEvent extends NewEvent {
  readonly author?: Author
}

/** Events that one statement stores. */
const insertedEvents = 64

/**
 * Stores events of an actor, in the transaction of the changes. Returns how many there are that are not null. They can be made
 * one after the other, because a thousand of them may be too large for the memory of a thread.
 */
export async function recordEvents(tx: Db, actor: Author, events: Iterable<AuthoredEvent | null>): Promise<number> {
  const created_at = new Date().toISOString()
  let rows: EventRow[] = []
  let count = 0
  for (const event of events) {
    if (event === null) continue
    rows.push(toRow(event.author ?? actor, event, created_at))
    count += 1
    if (rows.length < insertedEvents) continue
    await insertEvents(tx, rows)
    rows = []
  }
  if (rows.length > 0) await insertEvents(tx, rows)
  return count
}

type EventRow = ReturnType<typeof toRow>

async function insertEvents(tx: Db, rows: readonly EventRow[]): Promise<void> {
  for (const some of parts(rows, insertedEvents)) await tx.execute(insertion(some))
}

/** Returns the query that stores events. Mostly, only the first can open its batch: then the query looks up a single batch. */
function insertion(rows: readonly EventRow[]) {
  const batches = rows.map(({ batch_id }) => batch_id)
  const mayOpen = batches.map((batch, at) => batches.indexOf(batch) === at)
  const isOneBatch = mayOpen.lastIndexOf(true) === 0
  const build = () =>
    query.insertInto('events').values(({ selectFrom, case: when, lit, val, tuple, refTuple, eb }) => {
      // The place of a batch in its index. PostgreSQL has no statistics of a new database: for equality with both columns, it would
      // use an index without batches, and read all events of the account.
      const opens = ({ account_id, batch_id }: EventRow, at: number) => {
        const [columns, own] = [refTuple('account_id', 'batch_id'), tuple(account_id, batch_id)]
        const next = selectFrom('events')
          .select(eb(columns, '=', own).as('is_own'))
          .where(eb(columns, '>=', own))
        return when()
          .when(eb(val(Number(mayOpen[at])), '=', lit(0)))
          .then(lit(null))
          .when(next.orderBy('account_id').orderBy('batch_id').limit(lit(1)).$asScalar().$castTo<boolean>())
          .then(lit(null))
          .else(lit(1))
          .end()
      }
      // After the other columns, as in the values.
      return rows.map((row, at) => ({ ...row, opens_batch: isOneBatch && at > 0 ? null : opens(row, at) }))
    })
  const values = rows.flatMap((row, at) => {
    const batch = [row.account_id, row.batch_id]
    const place = isOneBatch && at > 0 ? [null] : [Number(mayOpen[at]), ...batch, ...batch]
    return [...Object.values(row), ...place]
  })
  return new CachedQuery(`insert ${rows.length} events${isOneBatch ? ' of a batch' : ''}`, values, build)
}

function toRow(actor: Author, event: NewEvent, created_at: string) {
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
    changes: formatChanges(event),
    kept: event.kept === undefined ? null : JSON.stringify(event.kept),
    created_at,
  }
}

/** Selects the deletions of links that can return. */
export const openLinkDeletions = query
  .selectFrom('events')
  .where('record', '=', 'link')
  .where('action', '=', 'deleted')
  // The conditions of an index.
  .where('undone_by', 'is', null)
  .where('kept', 'is not', null)
  // Permanent deletions have none.
  .where('changes', 'is not', null)
