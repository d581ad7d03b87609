import { idOf, sendPage, sendRecord } from '../api/envelopes.ts'
import { claimOf, idempotencyKeyOf, sendStored } from '../api/idempotency.ts'
import type { Api } from '../api/routes.ts'
import { Failure, found, preconditionFailed } from '../errors.ts'
import { checkListQuery, pageRequestOf } from '../forms/list-query.ts'
import { conditionOf } from '../http/conditions.ts'
import { send } from '../http/response.ts'
import type { ShortUrl } from '../names/short-url.ts'
import { resources } from '../resources.ts'
import type { Storage } from '../storage/port.ts'
import type { Versioned } from '../storage/version.ts'
import type { LinkActions } from './actions.ts'
import { linkQrRoute } from './qr-route.ts'
import { type Link, linkOf, linkOperations, listLinksQuery, shownLink, storeLink } from './schema.ts'
import { findLink, listLinks } from './store.ts'

/** The five operations on links, and their QR codes. */
export function linkRoutes(api: Api, storage: Storage, actions: LinkActions, shortUrl: ShortUrl): void {
  const { list, show, store, put, patch, delete: remove } = linkOperations
  const { idempotentRequests } = api
  const shownNow = (account: number, id: number) => async () =>
    shownLink(found(await findLink(storage, account, id), 'link'), shortUrl)

  api.add(list, async (exchange, { caller }) => {
    const condition = conditionOf(exchange)
    const query = checkListQuery(exchange.query, listLinksQuery)
    if (query instanceof Failure) return query
    const { rows, ...counted } = await listLinks(storage, caller.account, pageRequestOf(query, resources.links))
    const now = new Date().toISOString()
    const page = { ...counted, rows: rows.map((row) => linkOf(row, shortUrl, now)) }
    return sendPage(exchange, query, page, { path: api.urlOf(exchange, list), condition })
  })

  api.add(show, async (exchange, { caller }) => {
    const condition = conditionOf(exchange)
    const link = found(await findLink(storage, caller.account, idOf(exchange, 'link')), 'link')
    return sendRecord(exchange, shownLink(link, shortUrl), condition)
  })

  api.add(store, async (exchange, admitted) => {
    const key = idempotencyKeyOf(exchange)
    const insert = await actions.insertion(admitted.caller.account, admitted.fields)
    const claim = claimOf(exchange, admitted, key, storeLink)
    const onStored = (link: Link) => actions.announce(link)
    return sendStored(
      exchange,
      { idempotentRequests, claim, collection: api.urlOf(exchange, list), onStored },
      async (to) => shownLink(await insert(to), shortUrl),
    )
  })

  api.add([put, patch], async (exchange, { caller: { account }, fields }) => {
    const condition = conditionOf(exchange)
    const id = idOf(exchange, 'link')
    const link = await withShownTag(shownNow(account, id), () => actions.change(account, id, fields, condition))
    return sendRecord(exchange, shownLink(link, shortUrl))
  })

  api.add(remove, async (exchange, { caller: { account } }) => {
    const condition = conditionOf(exchange)
    const id = idOf(exchange, 'link')
    await withShownTag(shownNow(account, id), () => actions.remove(account, id, condition))
    return send(exchange, 204)
  })

  linkQrRoute(api, storage, shortUrl)
}

/** Changes a link; where a condition fails, the tag that the client gets is the one that shows the link as it is now. */
async function withShownTag<T>(current: () => Promise<Versioned<Link>>, change: () => Promise<T>): Promise<T> {
  try {
    return await change()
  } catch (error) {
    if (error instanceof Failure && error.code === 'precondition_failed') {
      throw preconditionFailed((await current()).version)
    }
    throw error
  }
}
