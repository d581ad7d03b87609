/**
 * What the next page says of a change that was made: one line, kept in a cookie until it is shown. The cookie names a sentence
 * and a number, so that no other site's cookie can put words into a page.
 */
import type { Exchange } from '../http/exchange.ts'
import type { Html } from '../http/html.ts'
import { cookieOf, setCookie } from './cookies.ts'
import { postButton } from './parts/buttons.ts'
import { notice } from './parts/notice.ts'

const cookie = 'waymark_notice'
/** Seconds in which the next page must be asked for. */
const maxAge = 60

/** The sentences; the number is an id or a count. */
const sentences = {
  'link-made': () => 'The link is created.',
  'link-saved': () => 'The link is saved. Visitors see the change at once.',
  'link-deleted': () => 'The link is deleted.',
  'link-restored': () => 'The link is back.',
  'too-late': () => 'The link could not be brought back: more than a minute has passed, or its domain is gone.',
  'alias-taken': () => 'The link could not be brought back: another link has its alias by now.',
  'clicks-forgotten': () => 'The statistics of this link are deleted.',
  'links-enabled': (count: number) => `${are(count, 'link')} enabled.`,
  'links-disabled': (count: number) => `${are(count, 'link')} disabled.`,
  'links-moved': (count: number) => `${are(count, 'link')} moved.`,
  'links-deleted': (count: number) => `${are(count, 'link')} deleted.`,
  'domain-made': () => 'The domain is added.',
  'domain-saved': () => 'The domain is saved.',
  'domain-deleted': () => 'The domain is deleted.',
  'space-made': () => 'The space is created.',
  'space-saved': () => 'The space is saved.',
  'space-deleted': () => 'The space is deleted. Its links stay.',
  'key-revoked': () => 'The key is revoked.',
  'signed-in': () => 'You are signed in already. That sign-in link had been used before or has expired.',
  'session-ended': () => 'The session is ended.',
  'sessions-ended': (count: number) => `${are(count, 'session')} ended.`,
} as const satisfies Record<string, (number: number) => string>

/** What was asked for and not done. */
const failures: readonly string[] = ['too-late', 'alias-taken'] satisfies Notice['code'][]

function are(count: number, what: string): string {
  return count === 1 ? `1 ${what} is` : `${count} ${what}s are`
}

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
  if (!Object.hasOwn(sentences, code)) return null
  const kind = failures.includes(code) ? 'warning' : 'done'
  const action = code === 'link-deleted' ? undo(number) : null
  return notice(kind, sentences[code as Notice['code']](Number(number)), action)
}

/** A deleted link can be brought back for a minute. */
function undo(link: string): Html {
  return postButton({ action: `/app/links/${link}/restore`, label: 'Undo', weight: 'link-like' })
}
