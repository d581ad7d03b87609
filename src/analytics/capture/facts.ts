import { hash } from 'node:crypto'
import { addressIn } from '../../lib/ip-address.ts'
import type { Dimension } from '../day.ts'
import type { Countries } from './countries.ts'
import { languageOf } from './language.ts'
import { referrerOf } from './referrer.ts'
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
