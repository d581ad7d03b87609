/** IANA time zones. Their offsets are cached, because asking the runtime takes microseconds. */

/** The runtime lists these zones by names that the IANA database has replaced. */
const newNames: Readonly<Record<string, string>> = {
  'Africa/Asmera': 'Africa/Asmara',
  'America/Buenos_Aires': 'America/Argentina/Buenos_Aires',
  'America/Catamarca': 'America/Argentina/Catamarca',
  'America/Coral_Harbour': 'America/Atikokan',
  'America/Cordoba': 'America/Argentina/Cordoba',
  'America/Godthab': 'America/Nuuk',
  'America/Indianapolis': 'America/Indiana/Indianapolis',
  'America/Jujuy': 'America/Argentina/Jujuy',
  'America/Louisville': 'America/Kentucky/Louisville',
  'America/Mendoza': 'America/Argentina/Mendoza',
  'Asia/Calcutta': 'Asia/Kolkata',
  'Asia/Katmandu': 'Asia/Kathmandu',
  'Asia/Rangoon': 'Asia/Yangon',
  'Asia/Saigon': 'Asia/Ho_Chi_Minh',
  'Atlantic/Faeroe': 'Atlantic/Faroe',
  'Europe/Kiev': 'Europe/Kyiv',
  'Pacific/Enderbury': 'Pacific/Kanton',
  'Pacific/Ponape': 'Pacific/Pohnpei',
  'Pacific/Truk': 'Pacific/Chuuk',
}

const listedNames = Intl.supportedValuesOf('timeZone').map((name) => newNames[name] ?? name)

/** The zones that forms offer. Others, such as old names, are valid too. */
export const timeZoneNames: readonly string[] = ['UTC', ...listedNames.filter((name) => name !== 'UTC').sort()]

/** Returns the usual spelling of a zone's IANA name; undefined if the runtime does not know it. */
export function parseTimeZone(name: string): string | undefined {
  // The runtime also accepts offsets such as "+02:00", which are not in the IANA database.
  if (!/^[a-z][\w+/-]{0,63}$/i.test(name)) return undefined
  try {
    return epoch.toZonedDateTimeISO(name).timeZoneId
  } catch {
    return undefined
  }
}

const epoch = Temporal.Instant.fromEpochMilliseconds(0)

/** Times with the same offset from UTC. `untilMs` is not included. */
export interface OffsetSpan {
  readonly fromMs: number
  readonly untilMs: number
  readonly offsetMs: number
}

/** Cached spans: fifty years of daylight saving time. */
const maxSpans = 100

/** A time zone. Times are in Unix milliseconds. */
export class TimeZone {
  readonly #name: string
  #spans: OffsetSpan[] = []

  constructor(name: string) {
    // A database can name a zone that an older runtime does not know.
    this.#name = parseTimeZone(name) ?? 'UTC'
  }

  /** Returns the span that contains a time. */
  spanAt(ms: number): OffsetSpan {
    const cached = this.#spans.find((span) => contains(span, ms))
    if (cached !== undefined) return cached
    const span = findSpan(this.#name, ms)
    if (this.#spans.length >= maxSpans) this.#spans = []
    this.#spans.push(span)
    return span
  }
}

function contains({ fromMs, untilMs }: OffsetSpan, ms: number): boolean {
  return fromMs <= ms && ms < untilMs
}

function findSpan(name: string, ms: number): OffsetSpan {
  const at = Temporal.Instant.fromEpochMilliseconds(Math.floor(ms)).toZonedDateTimeISO(name)
  const next = at.getTimeZoneTransition('next')
  // The transition before the next millisecond may be at this one.
  const previous = at.add({ milliseconds: 1 }).getTimeZoneTransition('previous')
  return {
    fromMs: previous?.epochMilliseconds ?? Number.NEGATIVE_INFINITY,
    untilMs: next?.epochMilliseconds ?? Number.POSITIVE_INFINITY,
    offsetMs: at.offsetNanoseconds / 1e6,
  }
}
