/** The scheme and the host. Android apps have their own scheme. */
const origin = /^(?:https?|android-app):\/\/[^/?#\\\s]{1,1024}(?=[/?#\\]|$)/i
/** RFC 1035 §2.3.4, with dots. */
const maxLength = 253
const ascii = /^[\0-\x7f]*$/
const hostName = /^(?:[a-z\d_-]+\.)*[a-z\d_-]+$/
const ipv6 = /^\[[\da-f:.]+\]$/

/** Returns the ASCII host of a `Referer` header, without port and root dot; null if it has none, or `ownHost`. */
export function referrerOf(header: string, ownHost: string): string | null {
  const named = origin.exec(header)?.[0]
  if (named === undefined) return null
  // Node gives the bytes of a header as Latin-1.
  const text = ascii.test(named) ? named : Buffer.from(named, 'latin1').toString('utf8')
  const host = URL.parse(text)?.hostname.toLowerCase().replace(/\.$/, '') ?? ''
  if (host === ownHost || host.length > maxLength) return null
  return isHost(host) ? host : null
}

/** Returns whether the text is a host as `referrerOf` returns it. Accepts any length. */
export function isHost(text: string): boolean {
  return hostName.test(text) || ipv6.test(text)
}
