import type { ResourceHandlers } from '../api/operations.ts'
import { Failure, found, preconditionFailed } from '../errors.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { Storage } from '../storage/port.ts'
import type { LinkActions } from './actions.ts'
import { type Link, linkOf, linkOperations, shownLink } from './schema.ts'
import { findLink, listLinks } from './store.ts'

/** Returns the handlers of the five operations on links. */
export function linkHandlers(storage: Storage, actions: LinkActions, shortUrl: ShortUrl): ResourceHandlers<Link> {
  const find = async (account: number, id: number) => {
    const link = await findLink(storage, account, id)
    return link && shownLink(link, shortUrl)
  }

  /** Runs a change. If its precondition fails, the response has the link's ETag. */
  async function withShownTag<T>(account: number, id: number, change: () => Promise<T>): Promise<T> {
    try {
      return await change()
    } catch (error) {
      if (!(error instanceof Failure && error.code === 'precondition_failed')) throw error
      throw preconditionFailed(found(await find(account, id), 'link').version)
    }
  }

  return {
    name: 'links',
    operations: linkOperations,
    list: async (account, request) => {
      const page = await listLinks(storage, account, request)
      const now = new Date().toISOString()
      return { ...page, rows: page.rows.map((row) => linkOf(row, shortUrl, now)) }
    },
    find,
    insertion: async (account, fields) => {
      const insert = await actions.insertion(account, fields)
      return async (db) => shownLink(await insert(db), shortUrl)
    },
    onStored: (link) => actions.onStored(link),
    change: async (account, id, fields, condition) => {
      const link = await withShownTag(account, id, () => actions.change(account, id, fields, condition))
      return shownLink(link, shortUrl)
    },
    remove: (account, id, _query, condition) => withShownTag(account, id, () => actions.remove(account, id, condition)),
  }
}
