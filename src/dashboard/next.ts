/** Where a browser goes after it has signed in. */

const home = '/app'

/** The address of one of our own pages that `text` names; else the first page. Never leads to another host. */
export function nextOf(text: unknown): string {
  if (typeof text !== 'string' || !text.startsWith(home)) return home
  const url = URL.parse(text, 'http://own.invalid')
  if (url === null || url.origin !== 'http://own.invalid') return home
  const isPage = url.pathname === home || url.pathname.startsWith(`${home}/`)
  return isPage && !url.pathname.startsWith(`${home}/sign-in`) ? url.pathname + url.search : home
}
