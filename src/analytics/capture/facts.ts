import { hash } from 'node:crypto'
import { addressIn } from '../../lib/ip-address.ts'
import type { Dimension } from '../day.ts'
import type { Countries } from './countries.ts'
import { softwareOf } from './software.ts'
import type { Visit } from './visit.ts'

/** Returns the stored facts of a person's visit: a value of each dimension, null if unknown. */
export function factsOf(
  { address, country, host, languages, referrer, userAgent }: Visit,
  countries: Pick<Countries, 'of'>,
): Readonly<Record<Exclude<Dimension, 'links'>, string | null>> {
  const { browser, operating_system, device } = softwareOf(userAgent)
  return {
    countries: countries.of(address, country),
    referrers: referrerOf(referrer, host),
    browsers: browser,
    operating_systems: operating_system,
    devices: device,
    languages: languageOf(languages),
  }
}

/** 48 bits: among a million visitors of a link, two have the same number once in 500 days. */
const digits = 12

/** Returns a hash below 2^48 of the link, the IP address and the user agent of a visitor, with a secret salt. */
export function visitorOf(visit: Pick<Visit, 'link' | 'address' | 'userAgent'>, salt: Uint8Array): number {
  // The text is unambiguous: only the user agent, at its end, may have spaces.
  const text = `${salt.toHex()} ${visit.link} ${addressIn(visit.address)} ${visit.userAgent}`
  return Number.parseInt(hash('sha256', text, 'hex').slice(0, digits), 16)
}

/** Bounds the work on a header. Browsers send a handful of languages. */
const maxLanguages = 512
/** RFC 9110 §12.5.4: a language range and its weight. Only the primary subtag counts here. */
const preference = /^\s*([a-z]{2,3}|\*)(?:[-_][a-z\d_-]*)?\s*(?:;\s*q\s*=\s*(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?$/i
/** Old codes and their replacements (RFC 5646 §2.2.1). */
const replaced: Readonly<Record<string, string>> = { iw: 'he', in: 'id', ji: 'yi', jw: 'jv', mo: 'ro' }

/** Returns the preferred primary subtag of an `Accept-Language` header in lower case; null for none or any. */
export function languageOf(header: string): string | null {
  let best: string | null = null
  let bestWeight = 0
  for (const part of header.slice(0, maxLanguages).split(',')) {
    const [, subtag, weight = '1'] = preference.exec(part) ?? []
    if (subtag === undefined || Number(weight) <= bestWeight) continue
    best = subtag.toLowerCase()
    bestWeight = Number(weight)
  }
  return best === null || best === '*' ? null : (replaced[best] ?? best)
}

/** The scheme and the host. Android apps have their own scheme. */
const origin = /^(?:https?|android-app):\/\/[^/?#\\\s]{1,1024}(?=[/?#\\]|$)/i
/** RFC 1035 §2.3.4, with dots. */
const maxHost = 253
const ascii = /^[\0-\x7f]*$/
const hostName = /^(?:[a-z\d_-]+\.)*[a-z\d_-]+$/
const ipv6 = /^\[[\da-f:.]+\]$/

/** Returns the ASCII host of a `Referer` header, without port and root dot; null if it has none, or `ownHost`. */
export function referrerOf(header: string, ownHost: string): string | null {
  const named = header === '' ? undefined : origin.exec(header)?.[0]
  const host = named === undefined ? null : hostOf(named)
  return host === ownHost ? null : host
}

function hostOf(named: string): string | null {
  // Node gives the bytes of a header as Latin-1.
  const text = ascii.test(named) ? named : Buffer.from(named, 'latin1').toString('utf8')
  const host = URL.parse(text)?.hostname.toLowerCase().replace(/\.$/, '') ?? ''
  return host.length <= maxHost && isHost(host) ? host : null
}

/** Returns whether the text is a host as `referrerOf` returns it. Accepts any length. */
export function isHost(text: string): boolean {
  return hostName.test(text) || ipv6.test(text)
}
