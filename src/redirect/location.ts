/** The Location of redirects. Pure. */

/** A stored URL as the URL Standard serialises it: absolute and in ASCII. */
export function locationOf(url: string): string {
  return new URL(url).href
}

/**
 * The location with a visitor's query appended as text, before the fragment. The query is never encoded again, and holds no
 * `#`. A location has a path, so the query reaches neither that nor what comes before it.
 */
export function withQuery(location: string, query: string): string {
  if (query === '') return location
  const fragmentAt = location.indexOf('#')
  const base = fragmentAt < 0 ? location : location.slice(0, fragmentAt)
  const fragment = fragmentAt < 0 ? '' : location.slice(fragmentAt)
  return `${base}${separatorAfter(base)}${query}${fragment}`
}

function separatorAfter(base: string): string {
  if (!base.includes('?')) return '?'
  return /[?&]$/.test(base) ? '' : '&'
}
