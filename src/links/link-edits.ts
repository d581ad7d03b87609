/** Edits of links in the dashboard, which can be undone for a minute. An edit changes one link or several. */
import { preconditionFailed, validationFailed } from '../errors.ts'
import type { Db } from '../storage/port.ts'
import type { Versioned } from '../storage/records.ts'
import { query } from '../storage/schema.ts'
import { type Edit, recordEdits, undoableEdits } from '../storage/undo.ts'
import { tagIdsOf, tagNamesOf } from './link-tags.ts'
import { type LinkChange, type LinkRow, tagsOf, updateLink } from './schema.ts'
import {
  changeLink,
  findLinkForUpdate,
  findLinkSpace,
  lockDomain,
  removeLink,
  unknownDomain,
  unknownSpace,
} from './store.ts'

/** The columns of the values that an edit can change. */
const columns = Object.keys(updateLink.fields) as (keyof LinkChange)[]

/**
 * Records the change of a link by the account's edit, in the transaction of the change. Returns the id of the edit, or null if
 * nothing changed.
 */
export async function recordEdit(
  tx: Db,
  account: number,
  edit: Edit,
  before: Versioned<LinkRow>,
  after: Versioned<LinkRow>,
): Promise<number | null> {
  if (before.version === after.version) return null
  const changed = columns.filter((column) => before.record[column] !== after.record[column])
  const values: Record<string, unknown> = Object.fromEntries(changed.map((column) => [column, before.record[column]]))
  if (changed.includes('tags')) {
    // By id, because tags may get other names within the minute. Only the difference, because others may be merged.
    const [old, current] = [
      await tagIdsOf(tx, account, tagsOf(before.record)),
      await tagIdsOf(tx, account, tagsOf(after.record)),
    ]
    values.tags = { add: [...old.difference(current)], remove: [...current.difference(old)] }
  }
  const change = { link_id: after.record.id, version: after.version, before: JSON.stringify(values) }
  await recordEdits(tx, account, edit, [change])
  return edit.id
}

/** The `before` of a link that its edit has created. */
const notStored = 'null'

/** Records that the account's edit has created links, in the transaction that stores them. */
export function recordCreations(
  tx: Db,
  account: number,
  edit: Edit,
  links: readonly Versioned<LinkRow>[],
): Promise<void> {
  const changes = links.map(({ record, version }) => ({ link_id: record.id, version, before: notStored }))
  return recordEdits(tx, account, edit, changes)
}

/** Returns whether the account's edit can be undone at `now`, in Unix milliseconds. */
export async function isUndoable(db: Db, account: number, edit: number, now: number): Promise<boolean> {
  return (await db.execute(undoableEdits(account, edit, now).select('link_id').limit(1))).length > 0
}

/** Returns the links whose change by the account's edit can be undone at `now`, in Unix milliseconds. */
export async function linksChangedBy(db: Db, account: number, edit: number, now: number): Promise<number[]> {
  const links = await db.execute(undoableEdits(account, edit, now).select('link_id').orderBy('link_id'))
  return links.map(({ link_id }) => link_id)
}

/** A link after an undone edit. `isDeleted`: the edit had created the link, which is deleted now. */
export type UndoneLink =
  | (Versioned<LinkRow> & { readonly isDeleted?: false })
  | { readonly isDeleted: true; readonly record?: undefined }

/**
 * Restores the values that the account's link had before the edit, in a new version, or deletes a link that the edit created.
 * `now` is in Unix milliseconds. Returns undefined if the edit can't be undone any more, or if the changed link is gone.
 * Throws `precondition_failed` if anyone has changed the link since, `alias_taken` if another link has its previous alias by
 * now, and `validation_failed` if its previous space or domain is gone.
 */
export function undoEdit(
  db: Db,
  account: number,
  edit: number,
  id: number,
  now: number,
): Promise<UndoneLink | undefined> {
  return db.write(async (tx) => {
    const found = undoableEdits(account, edit, now).selectAll().where('link_id', '=', id)
    const [recorded] = await tx.execute(found.forUpdate())
    const link = recorded && (await findLinkForUpdate(tx, account, id))
    // A repetition of an interrupted undo finds links that are deleted already.
    if (recorded?.before === notStored && link === undefined) return { isDeleted: true }
    if (recorded === undefined || link === undefined) return undefined
    if (link.version !== recorded.version) throw preconditionFailed(link.version)
    if (recorded.before !== notStored) return restoreValues(tx, account, edit, id, JSON.parse(recorded.before))
    await removeLink(tx, account, id, null)
    return { isDeleted: true }
  })
}

async function restoreValues(
  tx: Db,
  account: number,
  edit: number,
  id: number,
  { tags, ...values }: ColumnsBefore,
): Promise<Versioned<LinkRow> | undefined> {
  const { space_id: space = null, domain_id: domain = null } = values
  if (space !== null && (await findLinkSpace(tx, account, space)) === undefined)
    throw validationFailed([unknownSpace(space)])
  if (domain !== null && !(await lockDomain(tx, account, domain))) throw validationFailed([unknownDomain(domain)])
  const own = query.deleteFrom('link_edits').where('edit_id', '=', edit).where('link_id', '=', id)
  await tx.execute(own.where('account_id', '=', account))
  const change = tags && {
    add: await tagNamesOf(tx, account, tags.add),
    remove: await tagNamesOf(tx, account, tags.remove),
  }
  return changeLink(tx, account, id, { ...values, tags: change }, 'ignore')
}

/** The changed columns that a link had before an edit, and the ids of the tags that it lost and got. */
type ColumnsBefore = Partial<Pick<LinkRow, Exclude<keyof LinkChange, 'tags'> | 'domain_id'>> & {
  readonly tags?: { readonly add: readonly number[]; readonly remove: readonly number[] }
}
