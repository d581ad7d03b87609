/** Addresses of pages as people type them. */

/** A host name with a dot, perhaps a port, then the path or the end. */
const bareHost = /^[^\s/?#:@\\]+\.[^\s/?#:@\\]+(?::\d+)?(?:[/?#]|$)/

/**
 * `text` with `https://` before it where it begins with a host name, as `acme.com/summer` does; else `text` as it is.
 * @type {(text: string) => string}
 */
export function withScheme(text) {
  const trimmed = text.trim()
  return bareHost.test(trimmed) ? `https://${trimmed}` : text
}
