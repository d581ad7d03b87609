/** Addresses of pages as people type them. */

/** A host name with a dot, perhaps a port, then the path or the end. */
const bareHost = /^[^\s/?#:@\\]+\.[^\s/?#:@\\]+(?::\d+)?(?:[/?#]|$)/

/** `text` with `https://` before it where it begins with a host name, as `acme.com/summer` does; else `text` as it is. */
export function withScheme(text: string): string {
  const trimmed = text.trim()
  return bareHost.test(trimmed) ? `https://${trimmed}` : text
}

/** The fields, with a scheme in those that are called `names`. */
export function withSchemes<T extends Readonly<Record<string, unknown>>>(fields: T, names: readonly string[]): T {
  const typed = names.filter((name) => typeof fields[name] === 'string')
  return { ...fields, ...Object.fromEntries(typed.map((name) => [name, withScheme(String(fields[name]))])) }
}
