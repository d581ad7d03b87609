import type { VisitorClass } from './visitor-class.ts'

/** A redirected visit in memory. Only its facts and a visitor hash are stored: see `facts.ts`. */
export interface Visit {
  readonly link: number
  /** Unix milliseconds. */
  readonly atMs: number
  readonly class: VisitorClass
  /** Whether the visitor asks not to be tracked: `Sec-GPC` or `DNT`. */
  readonly isPrivate: boolean
  /** The client's IP address, possibly forwarded by a proxy. */
  readonly address: string
  /** The visited domain, as it is stored. */
  readonly host: string
  /** Headers, as Node returns them. Empty if the visitor sent none. */
  readonly userAgent: string
  readonly referrer: string
  readonly languages: string
  /** The header for the country, if one is configured. */
  readonly country: string
  /** 1; more for merged visits, which only have a link, a class and an hour. */
  readonly count: number
}
