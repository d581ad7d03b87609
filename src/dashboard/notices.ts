/**
 * What the next page says of a change that was made: one line, kept in a cookie until it is shown. The cookie names a sentence
 * and a number, so that no other site's cookie can put words into a page.
 */
import type { Exchange } from '../http/exchange.ts'
import { type Html, html } from '../http/html.ts'
import { cookieOf, setCookie } from './cookies.ts'

const cookie = 'waymark_notice'
/** Seconds in which the next page must be asked for. */
const maxAge = 60

const links = (count: number) => (count === 1 ? '1 link is' : `${count} links are`)

/** The sentences; the number is an id or a count. */
const sentences = {
  'signed-in': () => html`You are signed in.`,
  'signed-out': () => html`You are signed out.`,
  'link-made': () => html`The link works from now on.`,
  'link-saved': () => html`The link is saved. Visitors see the change at once.`,
  'link-deleted': (id: number) => html`The link is deleted. ${undo(`/app/links/${id}/restore`)}`,
  'link-restored': () => html`The link is back.`,
  'link-gone': () => html`The link could not be brought back: a minute has passed, or its alias has been taken.`,
  'clicks-forgotten': () => html`The clicks of this link are forgotten.`,
  'links-enabled': (count: number) => html`${links(count)} enabled.`,
  'links-disabled': (count: number) => html`${links(count)} disabled.`,
  'links-moved': (count: number) => html`${links(count)} moved.`,
  'links-deleted': (count: number) => html`${links(count)} deleted.`,
  'domain-made': () => html`The domain is stored. Set its DNS records next.`,
  'domain-saved': () => html`The domain is saved.`,
  'domain-deleted': () => html`The domain is deleted.`,
  'space-made': () => html`The space is stored.`,
  'space-saved': () => html`The space is saved.`,
  'space-deleted': () => html`The space is deleted. Its links stay.`,
  'key-revoked': () => html`The key is revoked.`,
  'session-ended': () => html`The session is ended.`,
  'sessions-ended': (count: number) => html`${count === 1 ? '1 session is' : `${count} sessions are`} ended.`,
} as const

export interface Notice {
  readonly code: keyof typeof sentences
  readonly number?: number
}

/** Has the next page of this browser show the notice. */
export function leaveNotice(exchange: Exchange, { code, number = 0 }: Notice, isSecure: boolean): void {
  setCookie(exchange, cookie, `${code}.${number}`, { isSecure, maxAge })
}

/** The line that the page before has left, which no later page shows again; null if there is none. */
export function takeNotice(exchange: Exchange, isSecure: boolean): Html | null {
  const value = cookieOf(exchange, cookie)
  if (value === undefined) return null
  setCookie(exchange, cookie, '', { isSecure, maxAge: 0 })
  const [, code = '', number = ''] = /^([a-z-]+)\.(\d{1,15})$/.exec(value) ?? []
  return Object.hasOwn(sentences, code) ? sentences[code as Notice['code']](Number(number)) : null
}

function undo(path: string): Html {
  return html`<form method="post" action="${path}" class="inline"><button class="link-button">Undo</button></form>`
}
