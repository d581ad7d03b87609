/**
 * What the next page says of a change that was made: one line, kept in a cookie until it is shown. The cookie names a sentence,
 * numbers and ids, so that no other site's cookie can put words into a page; names are looked up among the account's records.
 */
import { positiveInteger } from '../forms/rules.ts'
import type { Exchange } from '../http/exchange.ts'
import type { Html } from '../http/html.ts'
import { cookieOf, setCookie } from './cookies.ts'
import { isCode, isWarning, type Names, type Notice, sentenceOf, undoOf } from './notice-words.ts'
import { notice } from './parts/notice.ts'

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
  const value = cookieOf(exchange, cookie)
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
