import { isIP } from 'node:net'

/** The server for authenticators: a passkey belongs to a host name, and is used on one origin. */
export interface RelyingParty {
  readonly id: string
  readonly origin: string
}

/** A page at the only origin where passkeys work. */
export interface PasskeyPlace {
  readonly url: string
  /** Whether the browser seems to be there. A proxy may hide the host that it opened, so a script makes sure. */
  readonly isHere: boolean
}

/**
 * Returns the relying party of a dashboard; null if browsers allow no passkeys there: over plain HTTP, and for IP addresses.
 * `requestUrl` comes from a request, which anyone can forge, so without `BASE_URL` only `localhost` counts.
 */
export function findRelyingParty(baseUrl: string | null, requestUrl: string): RelyingParty | null {
  const url = URL.parse(baseUrl ?? requestUrl)
  if (url === null) return null
  const { hostname: id, origin, protocol } = url
  const isDomain = baseUrl !== null && protocol === 'https:' && isIP(id.replace(/^\[|\]$/g, '')) === 0
  return id === 'localhost' || isDomain ? { id, origin } : null
}
