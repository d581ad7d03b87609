/**
 * What a visit tells of its visitor, as the listener hears it. It lives in memory, for a second at most: what is kept is
 * what `facts.ts`, `visitor-class.ts` and `visitor.ts` make of it.
 */
export interface Visit {
  /** The id of the link. */
  readonly link: number
  /** Unix milliseconds. */
  readonly at: number
  readonly method: string
  /** The client's address, as a proxy may have forwarded it. */
  readonly address: string
  /** The domain that was visited, as it is stored. */
  readonly host: string
  /** Headers, as Node gives them. Empty where the visitor sent none. */
  readonly userAgent: string
  readonly referrer: string
  readonly languages: string
  /** Empty also where no header for it is configured. */
  readonly country: string
  /** Whether the visitor asks not to be tracked: `Sec-GPC` or `DNT`. */
  readonly isPrivate: boolean
}
