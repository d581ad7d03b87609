/** How events of links are reversed. */
import type { Actor } from '../access/actor.ts'
import { recountRecent } from '../analytics/recent.ts'
import { aliasTaken, irreversible } from '../errors.ts'
import { restoredEvent } from '../events/event.ts'
import { recordEvents } from '../events/log.ts'
import type { Reversal } from '../events/reversal.ts'
import { foldCase } from '../lib/text.ts'
import type { Db } from '../storage/port.ts'
import type { Versioned } from '../storage/records.ts'
import { clickLevels, query, type Row } from '../storage/schema.ts'
import type { LinkActions } from './actions.ts'
import { deleteLinks, type WholeLink } from './deletion.ts'
import { linkEvents } from './link-events.ts'
import { addTags, findUnknownTags } from './link-tags.ts'
import { type LinkChange, type LinkRow, linkColumns } from './schema.ts'
import { changeLink, computed, findLink, findLinkForUpdate, findLinkSpace, foldedOf, lockDomain } from './store.ts'

/** Returns the functions that reverse events of links. `actions` inform the redirect server. */
export function linkReversal(actions: LinkActions): Reversal {
  return {
    valuesOf: async (tx, account, id) => {
      const link = await findLinkForUpdate(tx, account, id)
      return link && linkEvents.valuesOf(link.record)
    },
    change: async (tx, actor, id, values) => {
      const { account } = actor
      const change = values as LinkChange & { readonly domain_id?: number }
      const link = await findLinkForUpdate(tx, account, id)
      if (link === undefined) throw irreversible('The link is gone.')
      // Only its hash could be restored, which is no longer stored.
      if (change.redirect_password === 'secret') throw irreversible('The previous password is no longer stored.')
      const { domain_id = null, space_id = null, tags = [] } = change
      if (domain_id !== null && (await lockDomain(tx, account, domain_id)) === undefined)
        throw irreversible('The previous domain of the link is gone.')
      if (space_id !== null && (await findLinkSpace(tx, account, space_id)) === undefined)
        throw irreversible('The previous space of the link is gone.')
      const [unknown] = await findUnknownTags(tx, account, tags)
      if (unknown !== undefined) throw irreversible(`The tag ${unknown} is gone.`)
      const changed = await changeLink(tx, actor, link.record, change)
      return () => changed && actions.onStored(changed.record)
    },
    remove: async (tx, actor, id) => {
      await deleteLinks(tx, actor, [id], { isPermanent: false, removedDomain: null })
      return () => actions.onRemoved(id)
    },
    restore: async (tx, actor, _id, kept) => {
      const { record } = await restoreLink(tx, actor, kept)
      return () => actions.onStored(record)
    },
  }
}

/** The columns of the table that a link shows. */
const ownColumns = linkColumns.filter((column) => column === 'space_id' || !(column in computed))

/**
 * Stores a deleted link again, in a new version, with those of its tags and without its space if they are gone. Returns the
 * link. Throws if its domain is gone, and `alias_taken`.
 */
export async function restoreLink(tx: Db, actor: Actor, kept: unknown): Promise<Versioned<LinkRow>> {
  const { account } = actor
  const link = kept as WholeLink
  const domain = await lockDomain(tx, account, link.domain_id)
  if (domain === undefined) throw irreversible(`The domain ${link.domain_name} is gone.`)
  const space_id = await existingSpace(tx, account, link.space_id)
  const now = new Date().toISOString()
  const row = {
    ...Object.fromEntries(ownColumns.map((column) => [column, link[column]])),
    // Another version may have folded them.
    ...foldedOf(link),
    alias_folded: foldCase(link.alias),
    ...{ account_id: account, space_id, status: 'active', revision: link.revision + 1 },
    updated_at: link.updated_at < now ? now : link.updated_at,
    // Sorts before every time, so that the status is updated before it is next used as a filter.
    status_due_at: '',
  }
  const insertion = query.insertInto('links').values(row as Row<'links'>)
  const ifFree = insertion.onConflict((conflict) => conflict.columns(['domain_id', 'alias_folded']).doNothing())
  if ((await tx.execute(ifFree.returning('id'))).length === 0) throw aliasTaken(link.alias)
  const { clicks, bots, previews, last_clicked_ms, forgotten_ms } = link
  const totals = { clicks, bots, previews, last_clicked_ms, forgotten_ms }
  await tx.execute(query.updateTable('link_clicks').set(totals).where('link_id', '=', link.id))
  if (clicks > 0) await recountRecent(tx, account, clickLevels.link, link.id)
  await addTags(tx, account, link.id, JSON.parse(link.tag_ids))
  if (Number(link.is_moving) > 0 || space_id !== link.space_id) {
    await tx.execute(query.insertInto('click_moves').values({ link_id: link.id }))
  }
  const restored = (await findLink(tx, account, link.id)) as Versioned<LinkRow>
  await recordEvents(tx, actor, [restoredEvent(linkEvents, restored.record)])
  return restored
}

/** Returns the id of the space, which is locked; null if it is gone. */
async function existingSpace(tx: Db, account: number, id: number | null): Promise<number | null> {
  if (id === null) return null
  const space = query.selectFrom('spaces').select('id').where('id', '=', id).where('account_id', '=', account)
  return (await tx.execute(space.forKeyShare()))[0]?.id ?? null
}
