/** Notices about completed changes and offers to undo them. Cookies have only a code and numbers, so they can't inject text. */
import { randomUUID } from 'node:crypto'
import { domainToUnicode } from 'node:url'
import { type Actor, allows } from '../access/actor.ts'
import { domainRecords } from '../domains/store.ts'
import { mayReverse } from '../events/reversal.ts'
import { isBatchOpen, readBatchEnd } from '../events/store.ts'
import { positiveInteger } from '../forms/rules.ts'
import { readCookie, setCookie } from '../http/cookies.ts'
import type { Exchange } from '../http/exchange.ts'
import { type Html, html } from '../http/html.ts'
import type { LinkRow } from '../links/schema.ts'
import { findLink } from '../links/store.ts'
import { formatShortUrl, type ShortUrl } from '../names/short-url.ts'
import { spaceRecords } from '../spaces/store.ts'
import type { Db } from '../storage/port.ts'
import { changes, messages, type Notice, undone, warnings } from './notice-messages.ts'
import { hiddenFields, linkButton, postButton, submitButton } from './parts/buttons.ts'
import { shortUrlText } from './parts/links.ts'
import { notice } from './parts/messages.ts'

const noticeCookie = 'waymark_notice'
const offerCookie = 'waymark_undo'
const maxAge = 60
/** A code, three numbers and the batch of the change, if there is one, separated by dots. */
const cookieFormat = /^([a-z-]+)\.(\d+)\.(\d+)\.(\d+)\.([\w-]{0,64})$/

/** A notice as in a cookie, with 0 for missing numbers. */
type StoredNotice = Readonly<Record<'count' | 'failed' | 'id', number>> &
  Pick<Notice, 'code'> & { readonly batch: string }

interface NoticeContext {
  readonly storage: Db
  readonly actor: Actor
  readonly account: number
  readonly shortUrl: ShortUrl
}

/** Shows the notice on the next page. If the batch can be undone, that page offers it for a minute. */
export function setNotice(exchange: Exchange, { code, ...given }: Notice, batch: string, isSecure: boolean): void {
  const { count = 0, failed = 0, id = 0 } = given
  setCookie(exchange, noticeCookie, textOf({ code, count, failed, id, batch }), { isSecure, maxAge })
  if (code in undone) withdrawOffer(exchange, isSecure)
}

function textOf({ code, count, failed, id, batch }: StoredNotice): string {
  return [code, count, failed, id, batch].join('.')
}

export function withdrawOffer(exchange: Exchange, isSecure: boolean): void {
  setCookie(exchange, offerCookie, '', { isSecure, maxAge: 0 })
}

/**
 * Renders the notice of the previous page, which is shown once, and the offer to undo a change, which stays on the
 * following pages for its minute. Returns null if there is neither.
 */
export async function consumeNotices(
  exchange: Exchange,
  context: NoticeContext,
  isSecure: boolean,
): Promise<Html | null> {
  const [said, offered] = [noticeIn(exchange, noticeCookie), noticeIn(exchange, offerCookie)]
  if (said !== undefined) setCookie(exchange, noticeCookie, '', { isSecure, maxAge: 0 })
  const lines: Html[] = []
  const next = said && said.code in changes ? await offerButtons(said, exchange.target, context) : null
  if (said) lines.push(await render(said, context, next, true))
  if (said && next) setCookie(exchange, offerCookie, textOf(said), { isSecure, maxAge })
  // A request that changed nothing leaves the previous offer.
  else if (offered !== undefined) {
    const button = offered && (await offerButtons(offered, exchange.target, context))
    if (offered && button) lines.push(await render(offered, context, button, false))
    else withdrawOffer(exchange, isSecure)
  }
  return lines.length === 0 ? null : html`<div class="notices">${lines}</div>`
}

/** Returns undefined without the cookie, and null if its value is invalid. */
function noticeIn(exchange: Exchange, cookie: string): StoredNotice | null | undefined {
  const value = readCookie(exchange, cookie)
  return value === undefined ? undefined : parseNotice(value)
}

async function render(
  found: StoredNotice,
  context: NoticeContext,
  undoing: Html | null,
  isNew: boolean,
): Promise<Html> {
  const { code, count, failed } = found
  const { name, link, deleted = 'deleted' } = await findNamed(found, context)
  const nameOr = (fallback: string) => (name ? html`<bdi>${name}</bdi>` : fallback)
  const text = messages[code]({ count, failed, nameOr, deleted, isNew })
  const actions: Html[] = []
  if (link !== undefined && code === 'link-created' && allows(context.actor, 'links:write')) {
    actions.push(linkButton({ label: 'Create another', href: pathOfAnother(link), weight: 'link-like' }))
  }
  if (undoing !== null) actions.push(undoing)
  const kind = failed > 0 || code in warnings ? 'warning' : 'done'
  return notice(kind, text, actions.length === 0 ? null : html`${actions.map((each) => html`${each} `)}`)
}

/** Returns the path of the form for another link on the same domain, in the same space. */
function pathOfAnother({ domain_id, space_id }: LinkRow): string {
  const space = space_id === null ? '' : `&space_id=${space_id}`
  return `/app/links/new?domain_id=${domain_id}${space}`
}

/** Renders the buttons that undo the change and dismiss the offer. Returns null if the change can't be undone. */
async function offerButtons({ batch }: StoredNotice, next: string, context: NoticeContext): Promise<Html | null> {
  const { storage, account, actor } = context
  // The first change has caused the others.
  const [first] = await readBatchEnd(storage, account, batch, 'asc', 1)
  if (first === undefined || !mayReverse(actor, [first])) return null
  if (!(await isBatchOpen(storage, account, batch, Date.now()))) return null
  const fields = { batch, next, once: randomUUID() }
  const button = postButton({ label: 'Undo', weight: 'link-like', action: '/app/history/undo', fields })
  return html`${button} <form method="post" action="/app/dismiss" data-dismiss>${hiddenFields({ next })}${submitButton({ label: 'Dismiss', weight: 'link-like' })}</form>`
}

function parseNotice(value: string): StoredNotice | null {
  const [, code = '', ...texts] = cookieFormat.exec(value) ?? []
  if (!Object.hasOwn(messages, code)) return null
  const [count = 0, failed = 0, id = 0] = texts.slice(0, 3).map((text) => positiveInteger(text) ?? 0)
  return { code: code as Notice['code'], count, failed, id, batch: texts[3] ?? '' }
}

interface Named {
  readonly name?: string | undefined
  readonly link?: LinkRow | undefined
  readonly deleted?: 'deleted' | 'deleted permanently'
}

/** Returns the record name, the link if the record is one, and how it was deleted. */
async function findNamed(
  { code, id, batch }: StoredNotice,
  { storage: db, account, shortUrl }: NoticeContext,
): Promise<Named> {
  if (id === 0) return {}
  if (code.endsWith('-deleted')) return findDeleted(db, account, batch, shortUrl)
  if (code === 'links-moved') return { name: (await spaceRecords.find(db, account, id))?.record.name }
  if (code.startsWith('domain-') || code === 'links-on-domain')
    return { name: (await domainRecords.find(db, account, id))?.record.name_unicode }
  if (!code.startsWith('link-')) return {}
  const link = (await findLink(db, account, id))?.record
  return { name: link && shortUrlText(shortUrl(link.domain_name ?? '', link.alias)), link }
}

/** Returns the name that a deleted record had, and whether it was deleted permanently. */
async function findDeleted(db: Db, account: number, batch: string, shortUrl: ShortUrl): Promise<Named> {
  const [event] = await readBatchEnd(db, account, batch, 'asc', 1)
  if (event === undefined) return {}
  const name =
    event.record === 'link' ? shortUrlText(formatShortUrl(event.name, shortUrl)) : domainToUnicode(event.name)
  return { name, deleted: event.changes === null ? 'deleted permanently' : 'deleted' }
}
