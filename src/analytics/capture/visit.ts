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

/** Visits as a thread is sent them: numbers, and texts that end with a line feed, each of them once. */
export interface PackedVisits {
  readonly numbers: Float64Array<ArrayBuffer>
  readonly texts: string
}

const classes = ['person', 'bot', 'preview'] as const satisfies readonly VisitorClass[]
/** Numbers of a visit. */
const width = 11

/**
 * Packs visits: many have the same headers, and few long texts are sent and kept far faster than many objects. No text has a
 * line feed: no field of HTTP has (RFC 9110 §5.5).
 */
export function pack(visits: readonly Visit[]): PackedVisits {
  const numbers = new Float64Array(visits.length * width)
  const places = new Map<string, number>()
  let texts = ''
  const placeOf = (text: string) => {
    const known = places.get(text)
    if (known !== undefined) return known
    texts += `${text}\n`
    places.set(text, places.size)
    return places.size - 1
  }
  let at = 0
  for (const visit of visits) {
    numbers[at++] = visit.link
    numbers[at++] = visit.atMs
    numbers[at++] = classes.indexOf(visit.class)
    numbers[at++] = visit.count
    numbers[at++] = Number(visit.isPrivate)
    numbers[at++] = placeOf(visit.address)
    numbers[at++] = placeOf(visit.host)
    numbers[at++] = placeOf(visit.userAgent)
    numbers[at++] = placeOf(visit.referrer)
    numbers[at++] = placeOf(visit.languages)
    numbers[at++] = placeOf(visit.country)
  }
  return { numbers, texts }
}

/** The visits of `pack`. Those with the same text share it. */
export function unpack({ numbers, texts }: PackedVisits): Visit[] {
  const text = texts.split('\n')
  const visits: Visit[] = []
  for (let at = 0; at < numbers.length; at += width) {
    const number = (column: number) => numbers[at + column] as number
    const textOf = (column: number) => text[number(column)] as string
    visits.push({
      link: number(0),
      atMs: number(1),
      class: classes[number(2)] as VisitorClass,
      count: number(3),
      isPrivate: number(4) === 1,
      address: textOf(5),
      host: textOf(6),
      userAgent: textOf(7),
      referrer: textOf(8),
      languages: textOf(9),
      country: textOf(10),
    })
  }
  return visits
}
