import { type ResourceHandlers, withShownVersion } from '../api/handlers.ts'
import { Ticks } from '../lib/ticks.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { Storage } from '../storage/port.ts'
import type { LinkActions } from './actions.ts'
import { listLinks } from './link-list.ts'
import { type Link, linkOf, shownLink } from './schema.ts'
import { findLink } from './store.ts'

/** Returns the handlers of the five operations on links. */
export function linkHandlers(
  storage: Storage,
  actions: LinkActions,
  shortUrl: ShortUrl,
): Omit<ResourceHandlers<Link>, 'warnings'> {
  const find = async (account: number, id: number) => {
    const link = await findLink(storage, account, id)
    return link && shownLink(link, shortUrl)
  }

  const withVersion = <T>(account: number, id: number, change: () => Promise<T>) =>
    withShownVersion(() => find(account, id), 'link', change)

  return {
    name: 'links',
    list: async (account, request) => {
      const page = await listLinks(storage, account, request)
      const now = new Date().toISOString()
      const ticks = new Ticks()
      const rows: Link[] = []
      for (const row of page.rows) {
        rows.push(linkOf(row, shortUrl, now))
        if (ticks.isOver) await ticks.next()
      }
      return { ...page, rows }
    },
    find,
    insertion: async (actor, fields) => {
      const insert = await actions.insertion(actor, fields)
      return async (db) => shownLink(await insert(db), shortUrl)
    },
    onStored: (link) => actions.onStored(link),
    change: async (actor, id, fields, condition) => {
      const link = await withVersion(actor.account, id, () => actions.change(actor, id, fields, condition))
      return shownLink(link, shortUrl)
    },
    remove: (actor, id, query, condition) =>
      withVersion(actor.account, id, () => actions.remove(actor, id, query, condition)),
  }
}
