/** Notices about completed changes and offers to undo them. Cookies have only a code and numbers, so they can't inject text. */
import { randomUUID } from 'node:crypto'
import { domainToUnicode } from 'node:url'
import { domainRecords } from '../domains/store.ts'
import { endOfBatch, isBatchOpen } from '../events/store.ts'
import { positiveInteger } from '../forms/rules.ts'
import { readCookie, setCookie } from '../http/cookies.ts'
import type { Exchange } from '../http/exchange.ts'
import { type Html, html, type Part } from '../http/html.ts'
import { type DestinationWarning, destinationWarnings } from '../links/destination-warnings.ts'
import { maxTags } from '../links/link.ts'
import type { LinkRow } from '../links/schema.ts'
import { findLink } from '../links/store.ts'
import { type ShortUrl, shortUrlOf } from '../names/short-url.ts'
import { spaceRecords } from '../spaces/store.ts'
import type { Db } from '../storage/port.ts'
import { hiddenFields, linkButton, postButton, submitButton } from './parts/buttons.ts'
import { quantity } from './parts/format.ts'
import { shortUrlText, truncateMiddle } from './parts/links.ts'
import { notice } from './parts/messages.ts'

const noticeCookie = 'waymark_notice'
const offerCookie = 'waymark_undo'
const maxAge = 60
/** A code, three numbers and the batch of the change, if there is one, separated by dots. */
const cookieFormat = /^([a-z-]+)\.(\d+)\.(\d+)\.(\d+)\.([\w-]{0,64})$/

export interface Notice {
  readonly code: keyof typeof messages
  readonly count?: number
  /** The number of records that could not be changed. */
  readonly failed?: number
  /** The record to name. */
  readonly id?: number | undefined
}

/** A notice as in a cookie, with 0 for missing numbers. */
type StoredNotice = Readonly<Record<'count' | 'failed' | 'id', number>> &
  Pick<Notice, 'code'> & { readonly batch: string }

interface NoticeContext {
  readonly storage: Db
  readonly account: number
  readonly shortUrl: ShortUrl
}

interface Facts {
  readonly count: number
  readonly failed: number
  /** Returns the record name, or the fallback if it is unknown. */
  readonly nameOr: (fallback: string) => Part
}

type Messages = Readonly<Record<string, (facts: Facts) => Part>>

/** Messages about changes. */
const changes = {
  // Scripts copy the short link, and then say so.
  'link-created': () => html`<span data-created>Link created.</span>`,
  'link-saved': () => 'Link saved. The change takes effect immediately.',
  'link-deleted': ({ nameOr }) => html`${nameOr('Link')} deleted.`,
  'clicks-deleted': () => 'Statistics deleted.',
  'link-enabled': ({ nameOr }) => html`${nameOr('Link')} enabled.`,
  'link-disabled': ({ nameOr }) => html`${nameOr('Link')} disabled.`,
  'link-archived': ({ nameOr }) => html`${nameOr('Link')} archived. It keeps working.`,
  'link-unarchived': ({ nameOr }) => html`${nameOr('Link')} is in lists again.`,
  'links-enabled': several('enabled'),
  'links-disabled': several('disabled'),
  'links-archived': (facts) => `${several('archived')(facts)} Archived links keep working.`,
  'links-unarchived': several('unarchived'),
  'links-moved': ({ count, failed, nameOr }) =>
    html`${quantity(count, 'link')} moved to ${nameOr('another space')}.${failures(failed, 'moved')}`,
  'links-on-domain': ({ count, failed, nameOr }) =>
    html`${quantity(count, 'link')} moved to ${nameOr('another domain')}.${failures(failed, 'moved')}`,
  'links-without-space': ({ count, failed }) =>
    `${quantity(count, 'link')} moved to “No space”.${failures(failed, 'moved')}`,
  'links-tagged': ({ count, failed }) =>
    `Tags of ${quantity(count, 'link')} changed.${failed === 0 ? '' : `${failures(failed, 'changed')} A link has up to ${maxTags} tags.`}`,
  'links-deleted': several('deleted'),
  'link-changed': ({ nameOr }) => html`${nameOr('Link')} changed.`,
  'links-changed': several('changed'),
  'links-redirected': (facts) => `Destinations of ${several('changed')(facts)}`,
  'links-imported': ({ count, failed }) =>
    `${quantity(count, 'link')} created.${failed === 0 ? '' : ` ${quantity(failed, 'row')} skipped.`}`,
  'account-saved': () => 'Account saved.',
  // The form accepts a URL and stores only its host.
  'domain-created': ({ nameOr }) => html`${nameOr('Domain')} added.`,
  'domain-saved': () => 'Domain saved.',
  'domain-reached': ({ nameOr }) => html`Visitors reach this server at ${nameOr('the domain')}.`,
  'qr-saved': () => 'QR code style saved. Codes that you downloaded before keep working.',
  'qr-reset': () => 'QR codes are black on white again.',
  'domain-deleted': ({ nameOr }) => html`${nameOr('Domain')} deleted.`,
  'space-created': () => 'Space created.',
  'space-saved': () => 'Space saved.',
  'tag-created': () => 'Tag created.',
  'tag-saved': () => 'Tag saved. Its links show the change immediately.',
  'tag-merged': () => 'Tags merged. This tag has the links of both.',
  'tag-deleted': () => 'Tag deleted. Its links keep working.',
  'space-deleted': () => 'Space deleted. Its links keep working.',
  'key-revoked': () => 'Key revoked.',
  'signed-in': () => 'You’re already signed in. That sign-in link was used or has expired.',
  'session-ended': () => 'Session ended.',
  'sessions-ended': ({ count }) => `${quantity(count, 'session')} ended.`,
} as const satisfies Messages

/** Messages about requests that changed nothing. */
const warnings = {
  'links-not-moved': () => 'No link was moved because all are on the domain already, or their aliases are taken there.',
  'links-not-redirected': () => 'No destination was changed because none has the text any more.',
  'links-gone': () => 'Nothing was changed because the links no longer exist.',
  'domain-not-reached': ({ nameOr }) => html`Visitors don’t reach this server at ${nameOr('the domain')}.`,
  'key-created-before': () =>
    'The key was created when you first pressed the button, and it’s shown only once. If you didn’t copy it, revoke it and create another key.',
  'sign-in-link-created-before': () =>
    'The sign-in link was created when you first pressed the button, and it’s shown only once. If you didn’t copy it, create another one.',
} as const satisfies Messages

/** Messages after an undo, which ends its offer. */
const undone = {
  'changes-undone': ({ count, failed }) =>
    `${count === 1 ? 'Change' : quantity(count, 'change')} undone.${failed === 0 ? '' : ` ${notUndone(quantity(failed, 'other'))}`}`,
  'changes-not-undone': ({ count }) => notUndone(quantity(count, 'change')),
  'nothing-to-undo': () => 'Nothing was left to undo.',
} as const satisfies Messages

const messages = { ...changes, ...warnings, ...undone }

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
  if (said) lines.push(await render(said, context, next))
  if (said && next) setCookie(exchange, offerCookie, textOf(said), { isSecure, maxAge })
  // A request that changed nothing leaves the previous offer.
  else if (offered !== undefined) {
    const button = offered && (await offerButtons(offered, exchange.target, context))
    if (offered && button) lines.push(await render(offered, context, button))
    else withdrawOffer(exchange, isSecure)
  }
  return lines.length === 0 ? null : html`<div class="notices">${lines}</div>`
}

/** Returns undefined without the cookie, and null if its value is invalid. */
function noticeIn(exchange: Exchange, cookie: string): StoredNotice | null | undefined {
  const value = readCookie(exchange, cookie)
  return value === undefined ? undefined : parseNotice(value)
}

async function render(found: StoredNotice, context: NoticeContext, undoing: Html | null): Promise<Html> {
  const { code, count, failed } = found
  const { name, link } = await findNamed(found, context)
  const nameOr = (fallback: string) => (name ? html`<bdi>${name}</bdi>` : fallback)
  const text = messages[code]({ count, failed, nameOr })
  // The destination is checked for likely mistakes.
  const saved = code === 'link-created' || code === 'link-saved' ? link : undefined
  const doubts =
    saved === undefined ? [] : await destinationWarnings(context.storage, context.account, saved, context.shortUrl)
  const actions: Html[] = []
  if (saved !== undefined && doubts.length > 0) actions.push(action('Edit', `/app/links/${saved.id}/edit`))
  if (saved !== undefined && code === 'link-created') actions.push(action('Create another', pathOfAnother(saved)))
  if (undoing !== null) actions.push(undoing)
  const kind = failed > 0 || doubts.length > 0 || code in warnings ? 'warning' : 'done'
  const words = doubts.length > 0 ? html`${text} ${doubts.map(describeDoubt)}` : text
  return notice(kind, words, actions.length === 0 ? null : html`${actions.map((each) => html`${each} `)}`)
}

function action(label: string, href: string): Html {
  return linkButton({ label, href, weight: 'link-like' })
}

/** Returns the path of the form for another link on the same domain, in the same space. */
function pathOfAnother({ domain_id, space_id }: LinkRow): string {
  const space = space_id === null ? '' : `&space_id=${space_id}`
  return `/app/links/new?domain_id=${domain_id}${space}`
}

function describeDoubt(doubt: DestinationWarning): Html {
  if (doubt.kind === 'own_short_link')
    return html`Check the destination: <bdi>${shortUrlText(doubt.shortUrl)}</bdi> is one of your own short links. `
  const [host, last] = [domainToUnicode(doubt.host), domainToUnicode(doubt.last)]
  return html`Check the destination: <bdi>${truncateMiddle(host, 60)}</bdi> ends in “.<bdi>${last}</bdi>”, which isn’t a known top-level domain. `
}

/** Renders the buttons that undo the change and dismiss the offer. Returns null if the change can't be undone. */
async function offerButtons({ batch }: StoredNotice, next: string, context: NoticeContext): Promise<Html | null> {
  const { storage, account } = context
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

/** Returns the record name, and the link if the record is one. */
async function findNamed(
  { code, id, batch }: StoredNotice,
  { storage: db, account, shortUrl }: NoticeContext,
): Promise<{ readonly name?: string | undefined; readonly link?: LinkRow | undefined }> {
  if (id === 0) return {}
  if (code.endsWith('-deleted')) return { name: await deletedName(db, account, batch, shortUrl) }
  if (code === 'links-moved') return { name: (await spaceRecords.find(db, account, id))?.record.name }
  if (code.startsWith('domain-') || code === 'links-on-domain')
    return { name: (await domainRecords.find(db, account, id))?.record.name_unicode }
  if (!code.startsWith('link-')) return {}
  const link = (await findLink(db, account, id))?.record
  return { name: link && shortUrlText(shortUrl(link.domain_name ?? '', link.alias)), link }
}

/** Returns the name that a deleted record had. */
async function deletedName(db: Db, account: number, batch: string, shortUrl: ShortUrl): Promise<string | undefined> {
  const [event] = await endOfBatch(db, account, batch, 'asc', 1)
  if (event === undefined) return undefined
  return event.record === 'link' ? shortUrlText(shortUrlOf(event.name, shortUrl)) : domainToUnicode(event.name)
}

/** Returns the message about several links: "2 links enabled. 1 other couldn’t be enabled." */
function several(change: string): (facts: Facts) => string {
  return ({ count, failed }) => `${quantity(count, 'link')} ${change}.${failures(failed, change)}`
}

function failures(count: number, change: string): string {
  return count === 0 ? '' : ` ${quantity(count, 'other')} couldn’t be ${change}.`
}

function notUndone(changes: string): string {
  return `${changes} couldn’t be undone because the records were changed since, or others that they need are gone.`
}
