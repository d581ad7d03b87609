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
  'link-created': () => 'The link is created.',
  'link-saved': () => 'The link is saved. Visitors see the change immediately.',
  'link-deleted': ({ nameOr }) => html`${nameOr('The link')} is deleted.`,
  'link-restored': ({ nameOr }) => html`${nameOr('The link')} is back.`,
  'too-late': () => 'The link could not be brought back: more than a minute has passed, or its domain is gone.',
  'alias-taken': () => 'The link could not be brought back: another link has its alias by now.',
  'clicks-deleted': () => 'The statistics of this link are deleted.',
  'link-enabled': ({ nameOr }) => html`${nameOr('The link')} is enabled.`,
  'link-disabled': ({ nameOr }) => html`${nameOr('The link')} is disabled.`,
  'links-enabled': ({ count, failed }) => `${linksAre(count)} enabled.${failures(failed)}`,
  'links-disabled': ({ count, failed }) => `${linksAre(count)} disabled.${failures(failed)}`,
  'links-moved': ({ count, failed, nameOr }) =>
    html`${linksAre(count)} moved to ${nameOr('another space')}.${failures(failed)}`,
  'links-without-space': ({ count, failed }) => `${linksAre(count)} in no space now.${failures(failed)}`,
  'links-deleted': ({ count, failed }) => `${linksAre(count)} deleted.${failures(failed)}`,
  'links-gone': () => 'Nothing was changed: the links are gone.',
  'links-restored': ({ count, failed }) =>
    `${linksAre(count)} back.${failed === 0 ? '' : ` ${notRestored(quantity(failed, 'other'))}`}`,
  'links-not-restored': ({ count }) => notRestored(quantity(count, 'link')),
  'domain-created': () => 'The domain is added.',
  'domain-saved': () => 'The domain is saved.',
  'domain-deleted': () => 'The domain is deleted.',
  'space-created': () => 'The space is created.',
  'space-saved': () => 'The space is saved.',
  'space-deleted': () => 'The space is deleted. Its links stay.',
  'key-created-before': () =>
    'The key was created the first time you pressed the button, and is shown only that once. If you did not copy it, revoke it and create another.',
  'key-revoked': () => 'The key is revoked.',
  'signed-in': () => 'You are signed in already. That sign-in link had been used before or has expired.',
  'session-ended': () => 'The session is ended.',
  'sessions-ended': ({ count }) => `${quantity(count, 'session')} ${count === 1 ? 'is' : 'are'} ended.`,
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

function linksAre(count: number): string {
  return `${quantity(count, 'link')} ${count === 1 ? 'is' : 'are'}`
}

function failures(count: number): string {
  return count === 0 ? '' : ` ${quantity(count, 'other')} could not be.`
}

function notRestored(links: string): string {
  return `${links} could not be brought back: more than a minute has passed, the domain is gone, or another link has the alias by now.`
}
