/**
 * What the next page says of a change that was made: one line, kept in a cookie until it is shown. The cookie names a sentence,
 * numbers and ids, so that no other site's cookie can put words into a page; names are looked up among the account's records.
 */
import { positiveInteger } from '../forms/rules.ts'
import type { Exchange } from '../http/exchange.ts'
import { type Html, html, type Part } from '../http/html.ts'
import { findRemovedLink } from '../links/deleted/store.ts'
import { findLink } from '../links/store.ts'
import type { ShortUrl } from '../names/short-url.ts'
import { findSpace } from '../spaces/store.ts'
import type { Db } from '../storage/port.ts'
import { readCookie, setCookie } from './cookies.ts'
import { postButton } from './parts/buttons.ts'
import { quantity } from './parts/format.ts'
import { shortUrlText } from './parts/links.ts'
import { notice } from './parts/messages.ts'
import { selectedRows } from './parts/table.ts'

const cookie = 'waymark_notice'
/** Seconds in which the next page must be asked for. */
const maxAge = 60

/** Has the next page of this browser show the notice. */
export function leaveNotice(exchange: Exchange, notice: Notice, isSecure: boolean): void {
  const { code, number = 0, others = 0, ids = [] } = notice
  setCookie(exchange, cookie, [code, number, others, ...ids].join('.'), { isSecure, maxAge })
}

/** The line that the page before has left, which no later page shows again; null if there is none. */
export async function takeNotice(exchange: Exchange, names: Names, isSecure: boolean): Promise<Html | null> {
  const value = readCookie(exchange, cookie)
  if (value === undefined) return null
  const left = noticeIn(value)
  const sentence = left === null ? null : await sentenceOf(left, names)
  setCookie(exchange, cookie, '', { isSecure, maxAge: 0 })
  if (left === null || sentence === null) return null
  return notice(isWarning(left) ? 'warning' : 'done', sentence, undoOf(left, exchange.target))
}

/** A code, two numbers and ids. */
const written = /^([a-z-]+)\.(\d{1,15})\.(\d{1,15})((?:\.\d{1,16}){0,200})$/

/** Null for what no page has left. */
function noticeIn(value: string): Notice | null {
  const [, code = '', number, others, rest = ''] = written.exec(value) ?? []
  if (!isCode(code)) return null
  return {
    code,
    number: Number(number),
    others: Number(others),
    ids: rest.split('.').flatMap((id) => positiveInteger(id) ?? []),
  }
}

export interface Notice {
  readonly code: Code
  /** How many records it is about. */
  readonly number?: number
  /** To how many others it could not be done. */
  readonly others?: number
  /** The records that it names, or that can be brought back. */
  readonly ids?: readonly number[]
}

export type Code = keyof typeof sentences

/** Where names come from. */
export interface Names {
  readonly db: Db
  readonly account: number
  readonly shortUrl: ShortUrl
}

interface Facts {
  readonly number: number
  readonly others: number
  /** The name of the one record that the notice is about, if it is found; else what stands for it. */
  readonly named: (otherwise: string) => Part
}

const sentences = {
  'link-made': () => 'The link is created.',
  'link-saved': () => 'The link is saved. Visitors see the change at once.',
  'link-deleted': ({ named }) => html`${named('The link')} is deleted.`,
  'link-restored': ({ named }) => html`${named('The link')} is back.`,
  'too-late': () => 'The link could not be brought back: more than a minute has passed, or its domain is gone.',
  'alias-taken': () => 'The link could not be brought back: another link has its alias by now.',
  'clicks-forgotten': () => 'The statistics of this link are deleted.',
  'link-enabled': ({ named }) => html`${named('The link')} is enabled.`,
  'link-disabled': ({ named }) => html`${named('The link')} is disabled.`,
  'links-enabled': ({ number, others }) => `${are(number, 'link')} enabled.${notDone(others)}`,
  'links-disabled': ({ number, others }) => `${are(number, 'link')} disabled.${notDone(others)}`,
  'links-moved': ({ number, others, named }) =>
    html`${are(number, 'link')} moved to ${named('another space')}.${notDone(others)}`,
  'links-taken-out': ({ number, others }) => `${are(number, 'link')} in no space now.${notDone(others)}`,
  'links-deleted': ({ number, others }) => `${are(number, 'link')} deleted.${notDone(others)}`,
  'links-gone': () => 'Nothing was changed: the links are gone.',
  'links-restored': ({ number, others }) =>
    others === 0 ? `${are(number, 'link')} back.` : `${are(number, 'link')} back. ${lost(quantity(others, 'other'))}`,
  'links-lost': ({ number }) => lost(quantity(number, 'link')),
  'domain-made': () => 'The domain is added.',
  'domain-saved': () => 'The domain is saved.',
  'domain-deleted': () => 'The domain is deleted.',
  'space-made': () => 'The space is created.',
  'space-saved': () => 'The space is saved.',
  'space-deleted': () => 'The space is deleted. Its links stay.',
  'key-created-before': () =>
    'The key was created the first time you pressed the button, and is shown only that once. If you did not copy it, revoke it and create another.',
  'key-revoked': () => 'The key is revoked.',
  'signed-in': () => 'You are signed in already. That sign-in link had been used before or has expired.',
  'session-ended': () => 'The session is ended.',
  'sessions-ended': ({ number }) => `${are(number, 'session')} ended.`,
} as const satisfies Record<string, (facts: Facts) => Part>

/** What was asked for and not done. */
const warnings: readonly Code[] = ['too-late', 'alias-taken', 'links-gone', 'links-lost', 'key-created-before']

export function isCode(text: string): text is Code {
  return Object.hasOwn(sentences, text)
}

/** Whether the notice says that something was not done. */
export function isWarning({ code, others = 0 }: Notice): boolean {
  return others > 0 || warnings.includes(code)
}

/** The sentence, with the name of the record that it is about. */
export async function sentenceOf(
  { code, number = 0, others = 0, ids: [id] = [] }: Notice,
  names: Names,
): Promise<Part> {
  const name = id === undefined ? undefined : await nameFinders[code]?.(names, id)
  return sentences[code]({
    number,
    others,
    named: (otherwise) => (name === undefined ? otherwise : html`<bdi>${name}</bdi>`),
  })
}

const nameFinders: Readonly<Partial<Record<Code, (names: Names, id: number) => Promise<string | undefined>>>> = {
  'link-deleted': async (names, id) => addressOf(await findRemovedLink(names.db, names.account, id, Date.now()), names),
  'link-restored': linkNamed,
  'link-enabled': linkNamed,
  'link-disabled': linkNamed,
  'links-moved': async ({ db, account }, id) => (await findSpace(db, account, id))?.record.name,
}

async function linkNamed(names: Names, id: number): Promise<string | undefined> {
  return addressOf((await findLink(names.db, names.account, id))?.record, names)
}

interface Addressed {
  readonly domain_name?: string | null
  readonly alias: string
}

function addressOf(link: Addressed | undefined, { shortUrl }: Names): string | undefined {
  return link && shortUrlText(shortUrl(link.domain_name ?? '', link.alias))
}

/** The button that undoes what was done, where that is possible, and leads back to the page at `next`. */
export function undoOf({ code, ids = [] }: Notice, next: string): Html | null {
  const [id] = ids
  if (id === undefined) return null
  const button = { label: 'Undo', weight: 'link-like' } as const
  switch (code) {
    case 'link-deleted':
      return postButton({ ...button, action: `/app/links/${id}/restore`, fields: { next } })
    case 'link-disabled':
      return postButton({ ...button, action: `/app/links/${id}/enable`, fields: { next } })
    case 'links-deleted':
      return postButton({
        ...button,
        action: '/app/links/selected',
        fields: { what: 'restore', next, ...selectedRows(ids) },
      })
    default:
      return null
  }
}

function are(count: number, what: string): string {
  return `${quantity(count, what)} ${count === 1 ? 'is' : 'are'}`
}

function notDone(others: number): string {
  return others === 0 ? '' : ` ${quantity(others, 'other')} could not be.`
}

function lost(what: string): string {
  return `${what} could not be brought back: more than a minute has passed, the domain is gone, or another link has the alias by now.`
}
