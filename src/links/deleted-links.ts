/** Links that were deleted in the dashboard, and can be restored for a minute. */

import { recountLink } from '../analytics/recent.ts'
import { aliasTaken, found } from '../errors.ts'
import type { Db } from '../storage/port.ts'
import type { Versioned } from '../storage/records.ts'
import { clickLevels, query, type Row } from '../storage/schema.ts'
import { type Edit, undoableSince } from '../storage/undo.ts'
import { addTags } from './link-tags.ts'
import type { LinkRow } from './schema.ts'
import { findLink, findLinkForUpdate, foldedOf } from './store.ts'

const totalColumns = ['clicks', 'bots', 'previews', 'last_clicked_ms', 'forgotten_ms'] as const

/** A deleted link as `deleted_links` stores it. */
interface DeletedLink {
  readonly link: Row<'links'>
  readonly totals: Pick<Row<'link_clicks'>, (typeof totalColumns)[number]>
  /** The ids of its tags. */
  readonly tags: readonly number[]
  /** Whether its clicks had not yet followed it to its space. */
  readonly isMoving: boolean
}

/** Deletes the account's link as `removeLink` does, but so that `restoreLink` can undo this edit. Throws `not_found`. */
export async function removeLinkWithUndo(db: Db, account: number, id: number, edit: Edit): Promise<void> {
  await db.write(async (tx) => {
    found(await findLinkForUpdate(tx, account, id), 'link')
    const [link] = await tx.execute(query.selectFrom('links').selectAll().where('id', '=', id))
    // Locked, so that no click is counted before the link is gone.
    const [totals] = await tx.execute(
      query.selectFrom('link_clicks').select(totalColumns).where('link_id', '=', id).forUpdate(),
    )
    const moves = await tx.execute(query.selectFrom('click_moves').select('link_id').where('link_id', '=', id))
    const tags = await tx.execute(query.selectFrom('link_tags').select('tag_id').where('link_id', '=', id))
    const deleted = { link, totals, isMoving: moves.length > 0, tags: tags.map(({ tag_id }) => tag_id) } as DeletedLink
    await tx.execute(
      query.insertInto('deleted_links').values({
        id,
        account_id: account,
        edit_id: edit.id,
        deleted_at: new Date(edit.at).toISOString(),
        clicks: deleted.totals.clicks + deleted.totals.bots + deleted.totals.previews,
        link: JSON.stringify(deleted),
      }),
    )
    await tx.execute(query.deleteFrom('links').where('id', '=', id).where('account_id', '=', account))
    // Its days are deleted when it can't be restored any more.
    await tx.execute(query.deleteFrom('click_removals').where('scope', '=', clickLevels.link).where('id', '=', id))
  })
}

/** Finds the account's link that can be restored at `now`, in Unix milliseconds, unless its domain is gone. */
export async function findRemovedLink(
  db: Db,
  account: number,
  id: number,
  now: number,
): Promise<Pick<LinkRow, 'alias' | 'domain_name'> | undefined> {
  const [deleted] = await db.execute(restorable(account, id, now))
  if (deleted === undefined) return undefined
  const { alias, domain_id } = (JSON.parse(deleted.link) as DeletedLink).link
  const [domain] = await db.execute(owned('domains', account, domain_id).select('name'))
  return domain && { alias, domain_name: domain.name }
}

/** Returns the links that the account's edit has deleted and that can be restored at `now`, in Unix milliseconds. */
export async function linksDeletedBy(
  db: Db,
  account: number,
  edit: number,
  now: number,
  limit?: number,
): Promise<number[]> {
  const removed = query
    .selectFrom('deleted_links')
    .select('id')
    .where('edit_id', '=', edit)
    .where('account_id', '=', account)
    .where('deleted_at', '>', undoableSince(now))
    .orderBy('id')
  const links = await db.execute(limit === undefined ? removed : removed.limit(limit))
  return links.map(({ id }) => id)
}

/**
 * Restores the account's link, without deleted spaces and tags. `now` is in Unix milliseconds. Returns the link, even if
 * it was restored before; undefined if it can't be restored any more, never existed, or its domain is gone. Throws
 * `alias_taken` if another link has the alias by now.
 */
export async function restoreLink(
  db: Db,
  account: number,
  id: number,
  now: number,
): Promise<Versioned<LinkRow> | undefined> {
  return db.write(async (tx) => {
    const [deleted] = await tx.execute(restorable(account, id, now).forUpdate())
    if (deleted !== undefined) {
      const { link, totals, isMoving, tags }: DeletedLink = JSON.parse(deleted.link)
      // Locked, so that it is not deleted before the link is restored.
      const [domain] = await tx.execute(owned('domains', account, link.domain_id).select('id').forUpdate())
      if (domain === undefined) return undefined
      const restored = await inExistingSpace(tx, link, now)
      // Another version may have folded them.
      const row = { ...restored, ...foldedOf(restored) } as typeof restored
      const insertion = query.insertInto('links').values(row).returning('id')
      const inserted = await tx.execute(
        insertion.onConflict((conflict) => conflict.columns(['domain_id', 'alias_folded']).doNothing()),
      )
      if (inserted.length === 0) throw aliasTaken(link.alias)
      await tx.execute(query.updateTable('link_clicks').set(totals).where('link_id', '=', id))
      await recountLink(tx, account, id)
      await addTags(tx, account, id, tags)
      if (isMoving || restored.space_id !== link.space_id) {
        await tx.execute(query.insertInto('click_moves').values({ link_id: id }))
      }
      await tx.execute(query.deleteFrom('deleted_links').where('id', '=', id).where('account_id', '=', account))
    }
    return findLink(tx, account, id)
  })
}

function restorable(account: number, id: number, now: number) {
  return query
    .selectFrom('deleted_links')
    .select('link')
    .where('id', '=', id)
    .where('account_id', '=', account)
    .where('deleted_at', '>', undoableSince(now))
}

function owned(table: 'domains' | 'spaces', account: number, id: number) {
  return query.selectFrom(table).where('id', '=', id).where('account_id', '=', account)
}

/** Returns the link in a new version without its space if that is gone. */
async function inExistingSpace(tx: Db, link: Row<'links'>, now: number): Promise<Row<'links'>> {
  if (link.space_id === null) return link
  const space = owned('spaces', link.account_id, link.space_id).select('id')
  if ((await tx.execute(space.forUpdate())).length > 0) return link
  // Clicks may be added to the space's days before the link's days have left them.
  await tx.execute(
    query
      .insertInto('click_removals')
      .values({ scope: clickLevels.space, id: link.space_id })
      .onConflict((conflict) => conflict.doNothing()),
  )
  const time = new Date(now).toISOString()
  // The time of an update never decreases.
  const updated_at = link.updated_at < time ? time : link.updated_at
  return { ...link, space_id: null, revision: link.revision + 1, updated_at }
}
