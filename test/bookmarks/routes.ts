import { idOf, sendPage, sendRecord } from '../api/envelopes.ts'
import { claimOf, idempotencyKeyOf, sendStored } from '../api/idempotency.ts'
import type { Api } from '../api/routes.ts'
import { Failure, found, notFound } from '../errors.ts'
import { checkListQuery, pageRequestOf } from '../forms/list-query.ts'
import { conditionOf } from '../http/conditions.ts'
import { send } from '../http/response.ts'
import { resources } from '../resources.ts'
import type { Storage } from '../storage/port.ts'
import { bookmarkOperations, listBookmarksQuery, storeBookmark, updateBookmark } from './schema.ts'
import { changeBookmark, findBookmark, insertBookmark, listBookmarks, removeBookmark } from './store.ts'

export function bookmarkRoutes(api: Api, storage: Storage): void {
  const { list, show, store, put, patch, delete: remove } = bookmarkOperations
  const { kept } = api

  api.add(list, async (exchange, { caller }) => {
    const condition = conditionOf(exchange)
    const query = checkListQuery(exchange.query, listBookmarksQuery)
    if (query instanceof Failure) return query
    const page = await listBookmarks(storage, caller.account, pageRequestOf(query, resources.bookmarks))
    return sendPage(exchange, query, page, { path: api.urlOf(exchange, list), condition })
  })

  api.add(show, async (exchange, { caller }) => {
    const condition = conditionOf(exchange)
    const bookmark = await findBookmark(storage, caller.account, idOf(exchange, 'bookmark'))
    return sendRecord(exchange, found(bookmark, 'bookmark'), condition)
  })

  api.add(store, async (exchange, admitted) => {
    const key = idempotencyKeyOf(exchange)
    const values = storeBookmark.check(admitted.fields)
    if (values instanceof Failure) return values
    const claim = claimOf(exchange, admitted, key, storeBookmark)
    return sendStored(exchange, { kept, claim, collection: api.urlOf(exchange, list) }, (to) =>
      insertBookmark(to, admitted.caller.account, values),
    )
  })

  api.add([put, patch], async (exchange, { caller, fields }) => {
    const condition = conditionOf(exchange)
    const id = idOf(exchange, 'bookmark')
    const change = updateBookmark.check(fields)
    if (change instanceof Failure) {
      const { version } = found(await findBookmark(storage, caller.account, id), 'bookmark')
      condition?.check(version)
      return change
    }
    return sendRecord(
      exchange,
      found(await changeBookmark(storage, caller.account, id, change as never, condition), 'bookmark'),
    )
  })

  api.add(remove, async (exchange, { caller }) => {
    const condition = conditionOf(exchange)
    const isRemoved = await removeBookmark(storage, caller.account, idOf(exchange, 'bookmark'), condition)
    return isRemoved ? send(exchange, 204) : notFound('bookmark')
  })
}
