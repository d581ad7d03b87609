import type { VisitorClass } from './visitor-class.ts'

/** A visit that was answered with its link's redirect. It is in memory until its click is written: a second or so. */
export interface Visit {
  readonly link: number
  /** Unix milliseconds. */
  readonly atMs: number
  readonly class: VisitorClass
  /** The visitor asks not to be tracked: nothing else than the click counts. */
  readonly isPrivate: boolean
  readonly address: string
  /** Header fields as they were sent, empty if they were not. `country` is that of the operator's COUNTRY_HEADER. */
  readonly host: string
  readonly userAgent: string
  readonly referrer: string
  readonly languages: string
  readonly country: string
  /** 1; more where several visits are told apart no more, and only their link, class and hour are known. */
  readonly count: number
}

const fields = 11

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

/** The visits of `linesOf`. */
export function visitsIn(lines: string): Visit[] {
  const all = lines.split('\n')
  return Array.from({ length: Math.floor(all.length / fields) }, (_, at) => {
    const [link, atMs, of, count, isPrivate, ...rest] = all.slice(at * fields, (at + 1) * fields)
    const [address = '', host = '', userAgent = '', referrer = '', languages = '', country = ''] = rest
    return {
      link: Number(link),
      atMs: Number(atMs),
      class: of as VisitorClass,
      count: Number(count),
      isPrivate: isPrivate === '1',
      ...{ address, host, userAgent, referrer, languages, country },
    }
  })
}
