import { domainToUnicode } from 'node:url'
import { composeText, decodePercent, foldCase } from '../lib/text.ts'
import { Refusal } from '../violations.ts'
import { findAlias, withoutTypography } from './alias.ts'
import { parseHostName } from './host-name.ts'
import { isWebUrl } from './web-url.ts'

/** Returns the short URL of an alias on a domain with this ASCII name. */
export type ShortUrl = (domain: string, alias: string) => string

/** The placeholder for the domain name in a template. */
export const domainMark = '{domain}'

/** Returns a formatter of short URLs by a template such as `https://{domain}`. */
export function shortUrls(template: string): ShortUrl {
  return (domain, alias) => `${template.replace(domainMark, domain)}/${encodeAlias(alias)}`
}

/** Returns the path of an alias, percent-encoded (RFC 3986 §3.3) and without its first slash. */
export function encodeAlias(alias: string): string {
  // Most aliases. They take a tenth of the time in a list.
  if (/^[\w/-]*$/.test(alias)) return alias
  return encodeURI(alias.toWellFormed()).replace(/[?#]/g, encodeURIComponent)
}

/** Returns the short URL of a host name and an alias with a slash between them. */
export function formatShortUrl(name: string, shortUrl: ShortUrl): string {
  const slash = name.indexOf('/')
  return shortUrl(name.slice(0, slash), name.slice(slash + 1))
}

/** Returns the decoded host, with its port, and the decoded path of a short URL, with its slash. */
export function decodeShortUrl(shortUrl: string): { readonly host: string; readonly path: string } {
  const [, name = '', port = '', path = ''] = /^(?:https?:\/\/)?([^/:]*)(:\d+)?(.*)$/s.exec(shortUrl) ?? []
  return { host: (domainToUnicode(name) || name) + port, path: decodeUrl(path) }
}

/** Returns a URL or a part of it without percent-encoding, if that is valid. */
export function decodeUrl(text: string): string {
  try {
    return decodeURI(text)
  } catch {
    return text
  }
}

/** Returns whether an http or https URL reaches the short URL. A default port matches any port, as with a proxy. */
export function matchesShortUrl(url: string, shortUrl: string): boolean {
  const [from, to] = [URL.parse(url), URL.parse(shortUrl)]
  if (from === null || to === null || !isWebUrl(url) || from.hostname.replace(/\.$/, '') !== to.hostname) return false
  if (from.port !== '' && from.port !== to.port) return false
  return pathKey(from.pathname) === pathKey(to.pathname)
}

/** A short URL as people paste it. */
interface PastedShortUrl {
  /** In ASCII. */
  readonly domain: string
  /** The alias in NFC, and then the alias without noise and without typography, if the text has any. */
  readonly aliases: readonly string[]
}

/** UTF-16 units of an imported alias of 255 code points, even if it is decomposed. Normalization takes quadratic time. */
export const maxDecodedAlias = 1_024

/**
 * Parses text that people paste as a short URL: with or without a scheme, port, query, trailing slash, the `+` of the
 * preview, noise (see `findAlias`) or typography. Returns null for other text.
 */
export function parseShortUrl(text: string): PastedShortUrl | null {
  const [, host = '', path = ''] =
    /^[^\p{L}\p{N}]*(?:https?:\/\/)?([^/?#:@\s]+)(?::\d{1,5})?\/([^?#\s]+)/iu.exec(text) ?? []
  const domain = host === '' ? null : parseHostName(host)
  const alias = decodePercent(path.replace(/\/$/, '').replace(/\+$/, ''))
  if (domain === null || domain instanceof Refusal || !alias || alias.length > maxDecodedAlias) return null
  // No alias has U+0000, which PostgreSQL rejects.
  const aliases = [alias, ...[alias, withoutTypography(alias)].map((each) => findAlias(each).alias)].filter(
    (each) => each !== '' && !each.includes('\0'),
  )
  return aliases.length === 0 ? null : { domain: domain.name, aliases: [...new Set(aliases.map(composeText))] }
}

function pathKey(path: string): string {
  const decoded = decodePercent(path.replace(/(?<=.)\/$/, ''))
  return decoded === null ? path : foldCase(decoded)
}
