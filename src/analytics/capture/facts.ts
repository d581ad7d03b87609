import { hash } from 'node:crypto'
import { addressIn } from '../../lib/ip-address.ts'
import type { Dimension } from '../day.ts'
import type { Countries } from './countries.ts'
import { languageOf } from './language.ts'
import { referrerOf } from './referrer.ts'
import { softwareOf } from './software.ts'
import type { Visit } from './visit.ts'

/** What is kept of a person's visit, beside its hour: a value of each dimension, null where it is unknown. */
export type Facts = Readonly<Record<Exclude<Dimension, 'links'>, string | null>>

const nothing: Facts = {
  countries: null,
  referrers: null,
  browsers: null,
  operating_systems: null,
  devices: null,
  languages: null,
}

/** Reads visits' facts. Headers that many visits share are read once, so it is to be made for each batch, and kept no longer. */
export class FactReader {
  readonly #countries: Pick<Countries, 'of'>
  readonly #languages = new Map<string, string | null>()
  readonly #referrers = new Map<string, string | null>()

  constructor(countries: Pick<Countries, 'of'>) {
    this.#countries = countries
  }

  /** The facts of a visit: none of one whose visitor asks not to be tracked. */
  of({ address, country, host, isPrivate, languages, referrer, userAgent }: Visit): Facts {
    if (isPrivate) return nothing
    const { browser, operating_system, device } = softwareOf(userAgent)
    return {
      countries: this.#countries.of(address, country),
      referrers:
        referrer === '' ? null : once(this.#referrers, `${host} ${referrer}`, () => referrerOf(referrer, host)),
      browsers: browser,
      operating_systems: operating_system,
      devices: device,
      languages: once(this.#languages, languages, () => languageOf(languages)),
    }
  }
}

function once(known: Map<string, string | null>, text: string, read: () => string | null): string | null {
  const found = known.get(text)
  if (found !== undefined) return found
  const value = read()
  known.set(text, value)
  return value
}

/** 48 bits: among a million visitors of a link, two have the same number once in 500 days. */
const digits = 12

/**
 * A number below 2^48 that stands for a visitor of a link under a secret salt: the same for the same link, address and
 * user agent. Without the salt it cannot be told whose it is.
 */
export function visitorOf(visit: Pick<Visit, 'link' | 'address' | 'userAgent'>, salt: Uint8Array): number {
  // No two visits give the same text: only the user agent, which comes last, may have spaces.
  const text = `${salt.toHex()} ${visit.link} ${addressIn(visit.address)} ${visit.userAgent}`
  return Number.parseInt(hash('sha256', text, 'hex').slice(0, digits), 16)
}
