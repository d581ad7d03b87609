import { decodePercent, foldCase } from '../lib/text.ts'
import { Refusal } from '../violations.ts'
import { parseHostName } from './host-name.ts'

/** Returns the short URL of an alias on a domain with this ASCII name. */
export type ShortUrl = (domain: string, alias: string) => string

/** The placeholder for the domain name in a template. */
export const domainMark = '{domain}'

/** Returns a formatter of short URLs by a template such as `https://{domain}`. Encodes paths (RFC 3986 §3.3). */
export function shortUrls(template: string): ShortUrl {
  return (domain, alias) => `${template.replace(domainMark, domain)}/${encodeURI(alias).replaceAll('#', '%23')}`
}

/** Returns whether a URL reaches the short URL, in any scheme. A default port matches any port, as with a proxy. */
export function matchesShortUrl(url: string, shortUrl: string): boolean {
  const [from, to] = [URL.parse(url), URL.parse(shortUrl)]
  if (from === null || to === null || from.hostname.replace(/\.$/, '') !== to.hostname) return false
  if (from.port !== '' && from.port !== to.port) return false
  return pathKey(from.pathname) === pathKey(to.pathname)
}

/**
 * Parses text that people paste as a short URL: with or without a scheme, port, query, trailing slash, or the `+` of the
 * preview. Returns the domain's ASCII name and the folded alias, or null for other text.
 */
export function parseShortUrl(text: string): { readonly domain: string; readonly aliasFolded: string } | null {
  const [, host = '', path = ''] = /^(?:https?:\/\/)?([^/?#:@\s]+)(?::\d{1,5})?\/([^?#\s]+)/i.exec(text) ?? []
  const domain = host === '' ? null : parseHostName(host)
  const alias = decodePercent(path.replace(/\/$/, '').replace(/\+$/, ''))
  if (domain === null || domain instanceof Refusal || !alias) return null
  return { domain: domain.name, aliasFolded: foldCase(alias) }
}

function pathKey(path: string): string {
  const decoded = decodePercent(path.replace(/(?<=.)\/$/, ''))
  return decoded === null ? path : foldCase(decoded)
}
