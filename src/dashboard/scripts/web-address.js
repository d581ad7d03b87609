/** A host name with a dot, an optional port, then a path or the end: `acme.com/summer`. */
const bareHost = /^[^\s/?#:@\\]+\.[^\s/?#:@\\]+(?::\d+)?(?:[/?#]|$)/

/** @type {(text: string) => string} */
export function withHttps(text) {
  const trimmed = text.trim()
  return bareHost.test(trimmed) ? `https://${trimmed}` : text
}
