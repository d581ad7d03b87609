/** Edits of links in the dashboard, which can be undone for a minute. */
import { preconditionFailed, validationFailed } from '../errors.ts'
import type { Db } from '../storage/port.ts'
import { restorableSince } from '../storage/removal.ts'
import { query } from '../storage/schema.ts'
import type { Versioned } from '../storage/version.ts'
import { type LinkChange, type LinkRow, updateLink } from './schema.ts'
import { changeLink, findLinkForUpdate, hasSpace, unknownSpace } from './store.ts'

/** The columns of the values that an edit can change. */
const columns = Object.keys(updateLink.fields) as (keyof LinkChange)[]

/**
 * Records an edit of the account's link, in the transaction of the edit. Returns the id of the edit, or null if it changed
 * nothing. `now` is in Unix milliseconds.
 */
export async function recordEdit(
  tx: Db,
  account: number,
  { before, after }: { readonly before: Versioned<LinkRow>; readonly after: Versioned<LinkRow> },
  now: number,
): Promise<number | null> {
  if (before.version === after.version) return null
  const changed = columns.filter((column) => before.record[column] !== after.record[column])
  const values = Object.fromEntries(changed.map((column) => [column, before.record[column]]))
  const [edit] = await tx.execute(
    query
      .insertInto('link_edits')
      .values({
        account_id: account,
        link_id: after.record.id,
        edited_at: new Date(now).toISOString(),
        version: after.version,
        before: JSON.stringify(values),
      })
      .returning('id'),
  )
  return edit?.id ?? null
}

/** Returns whether any of the account's edits with these ids can be undone at `now`, in Unix milliseconds. */
export async function hasUndoableEdits(db: Db, account: number, ids: readonly number[], now: number): Promise<boolean> {
  const found = undoable(account, now).where('id', 'in', ids).limit(1)
  return (await db.execute(found)).length > 0
}

/**
 * Restores the values that the account's link had before the edit, in a new version. `now` is in Unix milliseconds. Returns
 * the link, or undefined if the edit can't be undone any more or the link is gone. Throws `precondition_failed` if anyone
 * has changed the link since, `alias_taken` if another link has its previous alias by now, and `validation_failed` if its
 * previous space is gone.
 */
export function undoEdit(db: Db, account: number, id: number, now: number): Promise<Versioned<LinkRow> | undefined> {
  return db.write(async (tx) => {
    const [edit] = await tx.execute(undoable(account, now).where('id', '=', id).forUpdate())
    const link = edit && (await findLinkForUpdate(tx, account, edit.link_id))
    if (edit === undefined || link === undefined) return undefined
    if (link.version !== edit.version) throw preconditionFailed(link.version)
    const { disabled, forward_query, ...others } = JSON.parse(edit.before)
    const space: number | null = others.space_id ?? null
    if (space !== null && !(await hasSpace(tx, account, space))) throw validationFailed([unknownSpace(space)])
    const flags = { disabled: booleanOf(disabled), forward_query: booleanOf(forward_query) }
    await tx.execute(query.deleteFrom('link_edits').where('id', '=', id).where('account_id', '=', account))
    return changeLink(tx, account, edit.link_id, { ...others, ...flags })
  })
}

/** Deletes the edits of every account that can't be undone any more at `now`, in Unix milliseconds. */
export async function deleteExpiredEdits(db: Db, now: number): Promise<void> {
  const until = restorableSince(now)
  // A read does not wait for other writers, and usually there are no edits.
  const expired = query.selectFrom('link_edits').select('id').where('edited_at', '<=', until).limit(1)
  if ((await db.execute(expired)).length === 0) return
  await db.execute(query.deleteFrom('link_edits').where('edited_at', '<=', until))
}

function undoable(account: number, now: number) {
  return query
    .selectFrom('link_edits')
    .selectAll()
    .where('account_id', '=', account)
    .where('edited_at', '>', restorableSince(now))
}

function booleanOf(flag: number | undefined): boolean | undefined {
  return flag === undefined ? undefined : flag === 1
}
