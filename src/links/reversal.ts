import { notUndoable } from '../errors.ts'
import type { Reversal } from '../events/reversal.ts'
import { deleteLinks, restoreLink } from './deletion.ts'
import { linkEvents } from './link-events.ts'
import { findUnknownTags } from './link-tags.ts'
import type { Link, LinkChange } from './schema.ts'
import { changeLink, findLinkForUpdate, findLinkSpace, lockDomain } from './store.ts'

interface RedirectServer {
  readonly onStored: (link: Pick<Link, 'id' | 'domain_id' | 'alias'>) => void
  readonly onRemoved: (id: number) => void
}

/** Returns how events of links are reversed. `actions` inform the redirect server. */
export function linkReversal(actions: RedirectServer): Reversal {
  return {
    valuesOf: async (tx, account, id) => {
      const link = await findLinkForUpdate(tx, account, id)
      return link && linkEvents.valuesOf(link.record)
    },
    change: async (tx, actor, id, values) => {
      const { account } = actor
      const change = values as LinkChange & { readonly domain_id?: number }
      const link = await findLinkForUpdate(tx, account, id)
      if (link === undefined) throw notUndoable('The link is gone.')
      const { domain_id = null, space_id = null, tags = [] } = change
      if (domain_id !== null && (await lockDomain(tx, account, domain_id)) === undefined)
        throw notUndoable('The previous domain of the link is gone.')
      if (space_id !== null && (await findLinkSpace(tx, account, space_id)) === undefined)
        throw notUndoable('The previous space of the link is gone.')
      const [unknown] = await findUnknownTags(tx, account, tags)
      if (unknown !== undefined) throw notUndoable(`The tag ${unknown} is gone.`)
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
