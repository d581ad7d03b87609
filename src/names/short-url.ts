/**
 * How short links are written.
 */
import { foldCase } from '../lib/fold-case.ts'

/** Makes the short URL of an alias on a domain, whose name is in ASCII. */
export type ShortUrl = (domain: string, alias: string) => string

/** Stands for the name of the domain in a template. */
export const domainMark = '{domain}'

/**
 * Short URLs that begin as the template says: `https://{domain}`, without a slash at its end. In the alias, what RFC 3986
 * §3.3 does not allow in a segment of a path is percent-encoded; so is the number sign, which an emoji has.
 */
export function shortUrls(template: string): ShortUrl {
  return (domain, alias) => `${template.replace(domainMark, domain)}/${encodeURI(alias).replaceAll('#', '%23')}`
}

/**
 * Whether a URL leads to the short URL: the same host, port and path, whatever the case of the alias, the scheme, the query,
 * one dot after the host and one slash at the end. The default ports count as the port of any short URL, since a proxy may stand in front.
 */
export function leadsTo(url: string, shortUrl: string): boolean {
  const [from, to] = [URL.parse(url), URL.parse(shortUrl)]
  if (from === null || to === null || from.hostname.replace(/\.$/, '') !== to.hostname) return false
  if (from.port !== '' && from.port !== to.port) return false
  return pathKey(from.pathname) === pathKey(to.pathname)
}

function pathKey(path: string): string {
  try {
    return foldCase(decodeURIComponent(path.replace(/(?<=.)\/$/, '')))
  } catch {
    return path
  }
}
