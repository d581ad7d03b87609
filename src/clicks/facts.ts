import type { Dimension } from '../storage/clicks/day-facts.ts'
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

/** The facts of a visit: none of one whose visitor asks not to be tracked. */
export function factsOf(visit: Visit, countries: Pick<Countries, 'of'>): Facts {
  if (visit.isPrivate) return nothing
  const { browser, operating_system, device } = softwareOf(visit.userAgent)
  return {
    countries: countries.of(visit.address, visit.country),
    referrers: referrerOf(visit.referrer, visit.host),
    browsers: browser,
    operating_systems: operating_system,
    devices: device,
    languages: languageOf(visit.languages),
  }
}
