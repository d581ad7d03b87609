/** A host name with a dot, an optional port, then a path or the end. */
const bareHost = /^[^\s/?#:@\\]+\.[^\s/?#:@\\]+(?::\d+)?(?:[/?#]|$)/

/**
 * Adds `https://` to a URL that starts with a host name, such as `acme.com/summer`. Returns other text unchanged.
 * @type {(text: string) => string}
 */
export function withHttps(text) {
  const trimmed = text.trim()
  return bareHost.test(trimmed) ? `https://${trimmed}` : text
}
