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

/** The visits of `pack`, one after the other. Those with the same text share it. */
export function* unpacked({ numbers, texts }: PackedVisits): Generator<Visit> {
  const text = texts.split('\n')
  let at = 0
  const number = () => numbers[at++] as number
  const next = () => text[number()] as string
  while (at < numbers.length) {
    yield {
      link: number(),
      atMs: number(),
      class: classes[number()] as VisitorClass,
      count: number(),
      isPrivate: number() === 1,
      ...{ address: next(), host: next(), userAgent: next(), referrer: next(), languages: next(), country: next() },
    }
  }
}
