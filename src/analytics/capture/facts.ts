import type { FactDimension } from '../day.ts'
import type { Countries } from './countries.ts'
import { parseLanguage } from './language.ts'
import { detectSoftware } from './software.ts'
import type { Visit } from './visit.ts'

/** Returns the stored facts of a person's visit: a value of each dimension, null if unknown. */
export function collectFacts(
  { ipAddress, country, host, languages, referrer, rule, userAgent }: Visit,
  countries: Pick<Countries, 'of'>,
): Readonly<Record<FactDimension, string | null>> {
  const { browser, operating_system, device } = detectSoftware(userAgent)
  return {
    countries: countries.of(ipAddress, country),
    referrers: parseReferrer(referrer, host),
    browsers: browser,
    operating_systems: operating_system,
    devices: device,
    languages: parseLanguage(languages),
    rules: rule,
  }
}

/** The scheme and the host. Android apps have their own scheme. */
const origin = /^(?:https?|android-app):\/\/[^/?#\\\s]{1,1024}(?=[/?#\\]|$)/i
/** RFC 1035 §2.3.4, with dots. */
const maxHost = 253
const ascii = /^[\0-\x7f]*$/
const hostName = /^(?:[a-z\d_-]+\.)*[a-z\d_-]+$/
const ipv6 = /^\[[\da-f:.]+\]$/

/** Returns the ASCII host of a `Referer` header, without port and root dot; null if it has none, or `ownHost`. */
export function parseReferrer(header: string, ownHost: string): string | null {
  const named = header === '' ? undefined : origin.exec(header)?.[0]
  const host = named === undefined ? null : parseHost(named)
  return host === ownHost ? null : host
}

function parseHost(named: string): string | null {
  // Node gives the bytes of a header as Latin-1.
  const text = ascii.test(named) ? named : Buffer.from(named, 'latin1').toString('utf8')
  const host = URL.parse(text)?.hostname.toLowerCase().replace(/\.$/, '') ?? ''
  return host.length <= maxHost && isHost(host) ? host : null
}

/** Returns whether the text is a host as `parseReferrer` returns it. Accepts any length. */
export function isHost(text: string): boolean {
  return hostName.test(text) || ipv6.test(text)
}
