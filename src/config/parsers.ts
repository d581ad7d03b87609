/** Parsers of variables. Each throws an error that completes a sentence about the variable: "must be …". */
import { isIP } from 'node:net'
import { type Role, roles } from '../access/roles.ts'
import type { ProofHosts } from '../imports/old-service.ts'
import { isWellFormedKey } from '../keys/key.ts'
import { parseDuration } from '../lib/duration.ts'
import { parseHostName } from '../names/host-name.ts'
import { domainMark } from '../names/short-url.ts'
import { unsafeSchemes } from '../names/web-url.ts'
import { Refusal } from '../violations.ts'

/** A percent sign that is not followed by two hexadecimal digits. */
export const brokenEncoding = /%(?![\da-f]{2})/i

export function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    if (/^(0|[1-9]\d{0,9})$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text)
    throw new Error(`must be an integer from ${min} to ${max}, not "${text.slice(0, 40)}".`)
  }
}

export const port = integer(0, 65_535)

/** Returns a parser whose value is null for an empty text. */
export function optional<T>(parse: (text: string) => T): (text: string) => T | null {
  return (text) => (text === '' ? null : parse(text))
}

/** Returns a parser for a text that this pattern matches. `rule` completes the sentence: "must be a name". */
export function matching(pattern: RegExp, rule: string): (text: string) => string {
  return (text) => {
    if (pattern.test(text)) return text
    throw new Error(`${rule}.`)
  }
}

export function oneOf(allowed: readonly string[]): (text: string) => string {
  return (text) => {
    if (allowed.includes(text)) return text
    throw new Error(`must be one of ${allowed.join(', ')}.`)
  }
}

export function host(text: string): string {
  const name = /^\[([\da-f:.]+)\]$/i.exec(text)?.[1] ?? text
  if (isIP(name) !== 0 || /^[\w-]+(\.[\w-]+)*\.?$/.test(name)) return name
  throw new Error('must be an IP address or host name to listen on, such as 127.0.0.1 or 0.0.0.0.')
}

export const isPath = (text: string) => text !== '' && !/\p{Cc}/u.test(text)

export function folder(text: string): string {
  if (isPath(text)) return text
  throw new Error('must be the path of a folder, such as /var/lib/waymark/clicks-spool.')
}

/** Returns an origin in ASCII, which headers can carry. */
export function baseUrl(text: string): string {
  const isPlain = /^https?:\/\/[^/?#\s\\@]+\/?$/i.test(text) && !brokenEncoding.test(text)
  const url = isPlain ? URL.parse(text) : null
  if (url !== null) return url.origin
  throw new Error(
    "must be an http or https URL without a path, query or fragment, such as https://links.example.com. Waymark can't be served under a path.",
  )
}

/** Returns the template without a slash at the end and without a default port. */
export function shortUrl(text: string): string {
  const isPlain = /^https?:\/\/\{domain\}(?::\d{1,5})?\/?$/i.test(text)
  const url = isPlain ? URL.parse(text.replace(domainMark, 'a.example')) : null
  if (url !== null) return `${url.protocol}//${url.host.replace('a.example', domainMark)}`
  throw new Error(
    'must be https://{domain} or http://{domain}, optionally with a port. Write {domain} literally: it stands for the domain name. Paths are not supported.',
  )
}

export function corsOrigins(text: string): '*' | readonly string[] {
  if (text === '') return []
  if (text === '*') return text
  const origins = text.split(',').map((origin) => origin.trim())
  const invalid = origins.find((origin) => URL.parse(origin)?.origin !== origin)
  if (invalid === undefined) return origins
  throw new Error(
    `must be "*", or a comma-separated list of origins such as https://app.example.com. "${invalid.slice(0, 100)}" is not an origin: write scheme, host and port in lowercase, without a path.`,
  )
}

/** Parses schemes of URLs (RFC 3986 §3.1) with commas between them. Returns them in lower case. */
export function urlSchemes(text: string): readonly string[] {
  if (text === '') return []
  const schemes = text.split(',').map((scheme) => scheme.trim().toLowerCase())
  const invalid = schemes.find((scheme) => !/^[a-z][a-z\d+.-]{0,62}$/.test(scheme))
  const unsafe = schemes.find((scheme) => unsafeSchemes.includes(scheme))
  if (unsafe !== undefined) throw new Error(`must not contain ${unsafe}, which is not safe as a destination.`)
  if (invalid === undefined) return schemes
  throw new Error(
    `must be a comma-separated list of URL schemes, such as whatsapp,slack. "${invalid.slice(0, 40)}" is not a scheme: leave out the colon.`,
  )
}

export function bootstrapKey(text: string): string {
  if (isWellFormedKey(text)) return text
  throw new Error(
    'is not a valid API key. A key has "wm_" and 49 letters and digits, of which the last 6 are a checksum.',
  )
}

/** Parses the name of a header (RFC 9110 §5.1, §5.6.2). Returns it in lower case. */
export function countryHeader(text: string): string {
  if (/^[!#$%&'*+.^_`|~\w-]{1,100}$/.test(text)) return text.toLowerCase()
  throw new Error('must be a header name, such as CF-IPCountry.')
}

export function trustProxy(text: string): false | number | string[] {
  if (/^(off|0)$/i.test(text)) return false
  if (/^on$/i.test(text)) return 1
  if (/^[1-9]\d?$/.test(text)) return Number(text)
  const networks = text.split(',').map((network) => network.trim())
  if (networks.every(isNetwork)) return networks
  throw new Error(
    'must be "off", "on" (one proxy), the number of proxies, or a comma-separated list of their IP addresses and networks.',
  )
}

/** Returns whether the text is an IP address, a network in CIDR notation, or a network name of `@fastify/proxy-addr`. */
function isNetwork(text: string): boolean {
  if (/^(loopback|linklocal|uniquelocal)$/.test(text)) return true
  const [address = '', prefix, ...rest] = text.split('/')
  const bits = { 4: 32, 6: 128 }[isIP(address)]
  if (bits === undefined || rest.length > 0) return false
  return prefix === undefined || (/^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= bits)
}

/** A text of one line. */
const line = String.raw`[^\p{Cc}\p{Cf}]`

export const clientId = matching(new RegExp(`^${line}{1,1000}$`, 'u'), 'must have 1 to 1000 characters')
export const buttonText = matching(new RegExp(`^${line}{1,60}$`, 'u'), 'must have at most 60 characters')
export const claimName = matching(new RegExp(`^${line}{1,255}$`, 'u'), 'must be the name of a claim, such as groups')
export const accountId = matching(/^[1-9]\d{0,14}$/, 'must be an account ID, as shown by "waymark accounts list"')

/** Parses scopes of OAuth (RFC 6749 §3.3). */
export const oidcScopes = matching(
  /^(?=(?:.* )?openid(?: |$))[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/,
  'must be scopes with one space between them, including openid, such as "openid profile email"',
)

/** Returns the issuer unchanged, because the provider's metadata and tokens must have the same text. */
export function oidcIssuer(text: string): string {
  const url = /^https?:\/\/[^\s?#@\\]+$/i.test(text) ? URL.parse(text) : null
  const isLocal = /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(url?.hostname ?? '')
  const isWellKnown = url?.pathname.includes('/.well-known/')
  if (url !== null && !isWellKnown && (url.protocol === 'https:' || isLocal)) return text
  throw new Error(
    'must be the https URL of the issuer, exactly as the provider shows it, such as https://login.example.com/realms/acme. Leave out /.well-known/openid-configuration.',
  )
}

/** Parses roles by value of a claim: `links-admins=owner,marketing=editor`. A value may contain an equals sign. */
export function oidcRoles(text: string): ReadonlyMap<string, Role> {
  const mapped = new Map<string, Role>()
  for (const pair of text === '' ? [] : text.split(',')) {
    const [, value = '', name] = /^\s*(.*\S)\s*=\s*(\w+)\s*$/.exec(pair) ?? []
    const role = roles.find((role) => role === name)
    if (role === undefined || mapped.has(value)) {
      const example = 'links-admins=owner,marketing=editor'
      throw new Error(`must give each value of the claim one of the roles ${roles.join(', ')}, such as ${example}.`)
    }
    mapped.set(value, role)
  }
  return mapped
}

/** Parses addresses by host name: `old.host=203.0.113.7:443`. Names are returned with A-labels, in lower case. */
export function proofHosts(text: string): ProofHosts {
  const pairs = text === '' ? [] : text.split(',')
  return new Map(
    pairs.map((pair) => {
      const [, name = '', bracketed, plain, digits] =
        /^\s*([^=\s]+)=(?:\[(.+)\]|([^:]+)):(\d{1,5})\s*$/.exec(pair) ?? []
      const host = parseHostName(name)
      const address = bracketed ?? plain ?? ''
      const isEndpoint = isIP(address) === (bracketed === undefined ? 4 : 6) && /^0*[1-9]/.test(digits ?? '')
      if (!(host instanceof Refusal) && isEndpoint && Number(digits) <= 65_535) {
        return [host.name, { address, port: Number(digits) }]
      }
      throw new Error(
        `must be a comma-separated list such as old.host=203.0.113.7:443, with the IP address and port that get the requests for the host, not "${pair.slice(0, 100)}".`,
      )
    }),
  )
}

/** Parses a duration, and returns milliseconds. */
export function duration(text: string): number {
  const milliseconds = parseDuration(text)
  if (milliseconds) return milliseconds
  throw new Error('must be a duration such as 30m, 12h or 7d, from 1s to 36500d.')
}
