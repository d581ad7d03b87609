import type { VisitorClass } from './visitor-class.ts'

/**
 * A visit that was answered with its link's redirect. It lives in memory until it is written, about a second while the
 * database is there: what is kept is what `facts.ts` and `visitor.ts` make of it.
 */
export interface Visit {
  /** The id of the link. */
  readonly link: number
  /** Unix milliseconds. */
  readonly atMs: number
  readonly class: VisitorClass
  /** Whether the visitor asks not to be tracked: `Sec-GPC` or `DNT`. */
  readonly isPrivate: boolean
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
  /** 1; more where several visits are told apart no more, and only their link, class and hour are known. */
  readonly count: number
}

/**
 * Visits as text, since a thread is sent text far faster than objects. A field has no line feed: none of HTTP has (RFC 9110
 * §5.5).
 */
export function linesOf(visits: readonly Visit[]): string {
  let lines = ''
  for (const visit of visits) {
    lines += `${visit.link}\n${visit.atMs}\n${visit.class}\n${visit.count}\n${visit.isPrivate ? 1 : 0}\n${visit.address}\n${visit.host}\n${visit.userAgent}\n${visit.referrer}\n${visit.languages}\n${visit.country}\n`
  }
  return lines
}

/** The visits of `linesOf`, one after the other: all of their fields at once would be much to collect. */
export function* visitsIn(lines: string): Generator<Visit> {
  let at = 0
  const next = () => {
    const end = lines.indexOf('\n', at)
    const field = lines.slice(at, end)
    at = end + 1
    return field
  }
  while (at < lines.length) {
    yield {
      link: Number(next()),
      atMs: Number(next()),
      class: next() as VisitorClass,
      count: Number(next()),
      isPrivate: next() === '1',
      ...{ address: next(), host: next(), userAgent: next(), referrer: next(), languages: next(), country: next() },
    }
  }
}
