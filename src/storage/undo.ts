/** Changes that people can undo in the dashboard for a minute: edits of links and tags, deleted links and deleted domains. */
import { randomInt } from 'node:crypto'
import { sql } from 'kysely'
import { type Db, parts } from './port.ts'
import { query, type Row } from './schema.ts'

/** How long a change can be undone. Milliseconds. */
const undoableMs = 60_000

/** Returns the RFC 3339 time after which changes can still be undone at `now`, in Unix milliseconds. */
export function undoableSince(now: number): string {
  return new Date(now - undoableMs).toISOString()
}

/** The tables of changes, with the column of their time. */
const times = { link_edits: 'edited_at', deleted_links: 'deleted_at', deleted_domains: 'deleted_at' } as const

/** Deletes the changes of every account that can't be undone any more at `now`, in Unix milliseconds. */
export async function deleteExpired(db: Db, table: keyof typeof times, now: number): Promise<void> {
  const isExpired = sql<boolean>`${sql.ref(times[table])} <= ${undoableSince(now)}`
  // A read does not wait for other writers, and usually there are no such changes.
  const expired = query.selectFrom(table).select('account_id').where(isExpired).limit(1)
  if ((await db.execute(expired)).length === 0) return
  await db.execute(query.deleteFrom(table).where(isExpired))
}

/** What a user changes, and can undo, together. */
export interface Edit {
  readonly id: number
  /** The start of its minute, in Unix milliseconds: the same for all records, so that they are undone together. */
  readonly at: number
}

export function newEdit(): Edit {
  return { id: randomInt(1, 2 ** 48 - 1), at: Date.now() }
}

/** Records changes by the account's edit, in the transaction of the changes. */
export async function recordEdits(
  tx: Db,
  account: number,
  edit: Edit,
  changes: readonly Pick<Row<'link_edits'>, 'link_id' | 'version' | 'before'>[],
): Promise<void> {
  const shared = { edit_id: edit.id, account_id: account, edited_at: new Date(edit.at).toISOString() }
  for (const some of parts(changes, 128)) {
    const rows = some.map((change) => ({ ...shared, ...change }))
    await tx.execute(query.insertInto('link_edits').values(rows))
  }
}

/** Selects the changes by the account's edit that can be undone at `now`, in Unix milliseconds. */
export function undoableEdits(account: number, edit: number, now: number) {
  return query
    .selectFrom('link_edits')
    .where('edit_id', '=', edit)
    .where('account_id', '=', account)
    .where('edited_at', '>', undoableSince(now))
}
