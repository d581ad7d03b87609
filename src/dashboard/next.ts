/** Where a browser goes next, when an address or a form says so. */

const home = '/app'

/** The address of one of our own pages that `text` names; else the first page. Never leads to another host. */
export function nextOf(text: unknown): string {
  if (typeof text !== 'string' || !text.startsWith(home)) return home
  const url = URL.parse(text, 'http://own.invalid')
  if (url === null || url.origin !== 'http://own.invalid') return home
  const isPage = url.pathname === home || url.pathname.startsWith(`${home}/`)
  return isPage && !url.pathname.startsWith(`${home}/sign-in`) ? url.pathname + url.search : home
}

const links = `${home}/links`

/** The list of links in the state that `text` names, such as `/app/links?search=summer`; else the whole list. */
export function linkListOf(text: unknown): string {
  const next = nextOf(text)
  return next.startsWith(`${links}?`) ? next : links
}

/** The same, or the page of one link, if `text` names that. */
export function linkPlaceOf(text: unknown): string {
  const next = nextOf(text)
  return /^\/app\/links\/\d+$/.test(next) ? next : linkListOf(next)
}
