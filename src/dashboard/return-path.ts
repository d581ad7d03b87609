/** Paths that a browser returns to after a form, read from untrusted text. */
import { maxTargetBytes } from '../http/request-head.ts'
import { decodePercent } from '../lib/text.ts'

const home = '/app'
/** The maximum length of a path that fits into a form of 4 KiB even if it is percent-encoded. */
const maxShortPath = 1_200

/** Returns the path of the dashboard page that `text` names. Returns the first page if it is too long or invalid. */
export function returnPath(text: unknown): string {
  if (typeof text !== 'string' || !text.startsWith(home)) return home
  const url = URL.parse(text, 'http://own.invalid')
  if (url === null || url.origin !== 'http://own.invalid') return home
  const isPage = url.pathname === home || url.pathname.startsWith(`${home}/`)
  const next = url.pathname + url.search
  // The router decodes paths. A sign-in must not start what the browser then sends as from our own page.
  const isSignIn = decodePercent(url.pathname)?.startsWith(`${home}/sign-in`) ?? true
  return isPage && !isSignIn && next.length <= maxTargetBytes ? next : home
}

/** Like `returnPath`, for forms without a session. */
export function shortReturnPath(text: unknown): string {
  const next = returnPath(text)
  return next.length <= maxShortPath ? next : home
}

const links = `${home}/links`

/** Returns the path of the link list with its query; otherwise the whole list. */
export function linkListReturnPath(text: unknown): string {
  const next = returnPath(text)
  return next.startsWith(`${links}?`) ? next : links
}

/** Returns the path of a link page or, otherwise, the path of the link list. */
export function linkReturnPath(text: unknown): string {
  const next = returnPath(text)
  return /^\/app\/links\/\d+$/.test(next) ? next : linkListReturnPath(next)
}
