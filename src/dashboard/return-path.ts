/** Paths that a browser returns to after a form, read from untrusted text. */
import { maxTargetBytes } from '../http/request-head.ts'

const home = '/app'
/** The maximum length of a path in a form that needs no session. Percent-encoded, it still fits into 4 KiB. */
const maxShortPath = 1_200

/**
 * Returns the path of a dashboard page that `text` names, otherwise the first page. Never returns another host, or a path
 * that is too long for a request.
 */
export function returnPath(text: unknown): string {
  if (typeof text !== 'string' || !text.startsWith(home)) return home
  const url = URL.parse(text, 'http://own.invalid')
  if (url === null || url.origin !== 'http://own.invalid') return home
  const isPage = url.pathname === home || url.pathname.startsWith(`${home}/`)
  const next = url.pathname + url.search
  return isPage && !url.pathname.startsWith(`${home}/sign-in`) && next.length <= maxTargetBytes ? next : home
}

/** Like `returnPath`, but returns the first page for a path that doesn't fit into a form of 4 KiB. */
export function shortReturnPath(text: unknown): string {
  const next = returnPath(text)
  return next.length <= maxShortPath ? next : home
}

const links = `${home}/links`

/** Returns the path of the link list with its query, such as `/app/links?search=summer`; otherwise the whole list. */
export function linkListReturnPath(text: unknown): string {
  const next = returnPath(text)
  return next.startsWith(`${links}?`) ? next : links
}

/** Returns the path of a link page or, otherwise, the path of the link list. */
export function linkReturnPath(text: unknown): string {
  const next = returnPath(text)
  return /^\/app\/links\/\d+$/.test(next) ? next : linkListReturnPath(next)
}
