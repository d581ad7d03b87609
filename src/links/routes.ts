import { found, idOf, sendPage, sendRecord } from '../api/envelopes.ts'
import { claimOf, idempotencyKeyOf, sendStored } from '../api/idempotency.ts'
import { checkListQuery, pageRequestOf } from '../api/list-query.ts'
import type { Api } from '../api/routes.ts'
import { Failure, notFound, preconditionFailed } from '../errors.ts'
import { send } from '../http/answer.ts'
import { conditionOf } from '../http/conditions.ts'
import type { ShortUrl } from '../names/short-url.ts'
import { resources } from '../resources.ts'
import { foldCase } from '../storage/fold.ts'
import type { Db, Storage } from '../storage/port.ts'
import type { Versioned } from '../storage/version.ts'
import { checkedChange, checkedValues, hashed } from './checks.ts'
import { linkQrRoute } from './qr-route.ts'
import { type Link, linkOperations, listLinksQuery, storeLink, updateLink } from './schema.ts'
import { linkOf, shownLink } from './shown.ts'
import type { LinkRow } from './statements.ts'
import { changeLink, findLink, findLinkToChange, insertLink, listLinks, removeLink } from './store.ts'

export interface LinkParts {
  readonly shortUrl: ShortUrl
  /** Hears of each change before its answer leaves, so that visitors of this process see it at once. */
  readonly onChange: (id: number, domain: number, aliasFolded: string) => void
}

/** The five operations on links, and their QR codes. */
export function linkRoutes(api: Api, storage: Storage, { shortUrl, onChange }: LinkParts): void {
  const { list, show, store, put, patch, delete: remove } = linkOperations
  const { kept } = api
  const announce = ({ id, domain_id, alias }: Pick<LinkRow, 'id' | 'domain_id' | 'alias'>) =>
    onChange(id, domain_id, foldCase(alias))
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
    const { account } = admitted.caller
    const key = idempotencyKeyOf(exchange)
    const reading = storeLink.read(admitted.fields)
    if (reading.violations.length > 0) await checkedValues(storage, account, reading, shortUrl)
    const redirect_password = await hashed(account, reading.values.redirect_password ?? null)
    const claim = claimOf(exchange, admitted, key, storeLink)
    const storing = { kept, claim, collection: api.urlOf(exchange, list), onStored: announce }
    return sendStored(exchange, storing, async (to) => {
      // A repeated request gets its answer even if the domain is gone by now, so this is looked up only here.
      const { domain, values } = await checkedValues(to, account, reading, shortUrl)
      return shownLink(await insertLink(to, account, domain, { ...values, redirect_password }), shortUrl)
    })
  })

  api.add([put, patch], async (exchange, { caller: { account }, fields }) => {
    const condition = conditionOf(exchange)
    const id = idOf(exchange, 'link')
    const reading = updateLink.read(fields)
    const password = reading.violations.length > 0 ? null : reading.values.redirect_password
    const redirect_password = await hashed(account, password)
    const change = async (tx: Db) => {
      const old = found(await findLinkToChange(tx, account, id), 'link')
      condition?.check(old.version)
      const checked = await checkedChange(tx, account, old.record, reading, shortUrl)
      return found(await changeLink(tx, account, id, { ...checked, redirect_password }, null), 'link')
    }
    const link = await withShownTag(shownNow(account, id), () => storage.write(change))
    announce(link.record)
    return sendRecord(exchange, shownLink(link, shortUrl))
  })

  api.add(remove, async (exchange, { caller: { account } }) => {
    const condition = conditionOf(exchange)
    const id = idOf(exchange, 'link')
    const isRemoved = await withShownTag(shownNow(account, id), () => removeLink(storage, account, id, condition))
    if (!isRemoved) return notFound('link')
    onChange(id, 0, '')
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
