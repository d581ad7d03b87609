/** Notices about completed changes, stored in a cookie. It has only a code and numbers, so it cannot inject text. */
import { positiveInteger } from '../forms/rules.ts'
import { readCookie, setCookie } from '../http/cookies.ts'
import type { Exchange } from '../http/exchange.ts'
import { type Html, html, type Part } from '../http/html.ts'
import { findRemovedLink } from '../links/deleted-links.ts'
import { findLink } from '../links/store.ts'
import type { ShortUrl } from '../names/short-url.ts'
import { spaceRecords } from '../spaces/store.ts'
import type { Db } from '../storage/port.ts'
import { postButton } from './parts/buttons.ts'
import { quantity } from './parts/format.ts'
import { shortUrlText } from './parts/links.ts'
import { notice } from './parts/messages.ts'
import { selectedRows } from './parts/table.ts'

const cookie = 'waymark_notice'
const maxAge = 60
/** A code, two numbers and ids, separated by dots. */
const cookieFormat = /^([a-z-]+)\.(\d{1,15})\.(\d{1,15})((?:\.\d{1,16}){0,200})$/

export interface Notice {
  readonly code: keyof typeof messages
  readonly count?: number
  /** The number of records that could not be changed. */
  readonly failed?: number
  /** The records to name or to restore. */
  readonly ids?: readonly number[]
}

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

const messages = {
  'link-created': () => 'Link created.',
  'link-saved': () => 'Link saved. The change takes effect immediately.',
  'link-deleted': ({ nameOr }) => html`${nameOr('Link')} deleted.`,
  'link-restored': ({ nameOr }) => html`${nameOr('Link')} restored.`,
  'too-late': () => 'The link couldn’t be restored because more than a minute has passed or its domain was deleted.',
  'alias-taken': () => 'The link couldn’t be restored because another link now has its alias.',
  'clicks-deleted': () => 'Statistics deleted.',
  'link-enabled': ({ nameOr }) => html`${nameOr('Link')} enabled.`,
  'link-disabled': ({ nameOr }) => html`${nameOr('Link')} disabled.`,
  'links-enabled': ({ count, failed }) => `${quantity(count, 'link')} enabled.${failures(failed, 'enabled')}`,
  'links-disabled': ({ count, failed }) => `${quantity(count, 'link')} disabled.${failures(failed, 'disabled')}`,
  'links-moved': ({ count, failed, nameOr }) =>
    html`${quantity(count, 'link')} moved to ${nameOr('another space')}.${failures(failed, 'moved')}`,
  'links-without-space': ({ count, failed }) =>
    `${quantity(count, 'link')} moved to “No space”.${failures(failed, 'moved')}`,
  'links-deleted': ({ count, failed }) => `${quantity(count, 'link')} deleted.${failures(failed, 'deleted')}`,
  'links-gone': () => 'Nothing was changed because the links no longer exist.',
  'links-restored': ({ count, failed }) =>
    `${quantity(count, 'link')} restored.${failed === 0 ? '' : ` ${notRestored(quantity(failed, 'other'))}`}`,
  'links-not-restored': ({ count }) => notRestored(quantity(count, 'link')),
  'domain-created': () => 'Domain added.',
  'domain-saved': () => 'Domain saved.',
  'domain-deleted': () => 'Domain deleted.',
  'space-created': () => 'Space created.',
  'space-saved': () => 'Space saved.',
  'space-deleted': () => 'Space deleted. Its links keep working.',
  'key-created-before': () =>
    'The key was created when you first pressed the button, and it’s shown only once. If you didn’t copy it, revoke it and create a new one.',
  'key-revoked': () => 'Key revoked.',
  'signed-in': () => 'You’re already signed in. That sign-in link was used or has expired.',
  'session-ended': () => 'Session ended.',
  'sessions-ended': ({ count }) => `${quantity(count, 'session')} ended.`,
} as const satisfies Record<string, (facts: Facts) => Part>

/** Codes of requests that changed nothing. */
const warnings: readonly Notice['code'][] = [
  'too-late',
  'alias-taken',
  'links-gone',
  'links-not-restored',
  'key-created-before',
]

export function setNotice(exchange: Exchange, notice: Notice, isSecure: boolean): void {
  const { code, count = 0, failed = 0, ids = [] } = notice
  setCookie(exchange, cookie, [code, count, failed, ...ids].join('.'), { isSecure, maxAge })
}

/** Renders the notice of the previous page, and deletes it. Returns null if there is none. */
export async function consumeNotice(
  exchange: Exchange,
  context: NoticeContext,
  isSecure: boolean,
): Promise<Html | null> {
  const value = readCookie(exchange, cookie)
  if (value === undefined) return null
  const found = parseNotice(value)
  const name = found && (await findName(found, context))
  setCookie(exchange, cookie, '', { isSecure, maxAge: 0 })
  if (found === null) return null
  const { code, count, failed } = found
  const nameOr = (fallback: string) => (name ? html`<bdi>${name}</bdi>` : fallback)
  const kind = failed > 0 || warnings.includes(code) ? 'warning' : 'done'
  return notice(kind, messages[code]({ count, failed, nameOr }), undoButton(found, exchange.target))
}

function parseNotice(value: string): Required<Notice> | null {
  const [, code = '', count, failed, rest = ''] = cookieFormat.exec(value) ?? []
  if (!Object.hasOwn(messages, code)) return null
  const ids = rest.split('.').flatMap((id) => positiveInteger(id) ?? [])
  return { code: code as Notice['code'], count: Number(count), failed: Number(failed), ids }
}

/** Codes that name an existing link. */
const linkCodes: readonly Notice['code'][] = ['link-restored', 'link-enabled', 'link-disabled']

async function findName({ code, ids: [id] }: Required<Notice>, { storage: db, account, shortUrl }: NoticeContext) {
  if (id === undefined) return undefined
  if (code === 'links-moved') return (await spaceRecords.find(db, account, id))?.record.name
  const isDeleted = code === 'link-deleted'
  if (!isDeleted && !linkCodes.includes(code)) return undefined
  const link = isDeleted
    ? await findRemovedLink(db, account, id, Date.now())
    : (await findLink(db, account, id))?.record
  return link && shortUrlText(shortUrl(link.domain_name ?? '', link.alias))
}

/** Renders the button that undoes the change and returns to the page at `next`. Returns null if undo is impossible. */
function undoButton({ code, ids }: Required<Notice>, next: string): Html | null {
  const [id] = ids
  if (id === undefined) return null
  const undo = (action: string, fields: Readonly<Record<string, string>>) =>
    postButton({ label: 'Undo', weight: 'link-like', action: `/app/links/${action}`, fields })
  if (code === 'link-deleted') return undo(`${id}/restore`, { next })
  if (code === 'link-disabled') return undo(`${id}/enable`, { next })
  return code === 'links-deleted' ? undo('selected', { what: 'restore', next, ...selectedRows(ids) }) : null
}

function failures(count: number, change: string): string {
  return count === 0 ? '' : ` ${quantity(count, 'other')} couldn’t be ${change}.`
}

function notRestored(links: string): string {
  return `${links} couldn’t be restored because more than a minute has passed, the domain was deleted, or another link now has the alias.`
}
