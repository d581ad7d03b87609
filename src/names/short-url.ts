/**
 * How short links are written.
 */

/** Makes the short URL of an alias on a domain, whose name is in ASCII. */
export type ShortUrl = (domain: string, alias: string) => string

/** Stands for the name of the domain in a template. */
export const domainMark = '{domain}'

/**
 * Short URLs that begin as the template says: `https://{domain}`, without a slash at its end. In the alias, what RFC 3986
 * §3.3 does not allow in a segment of a path is percent-encoded.
 */
export function shortUrls(template: string): ShortUrl {
  return (domain, alias) => `${template.replace(domainMark, domain)}/${encodeURI(alias)}`
}
