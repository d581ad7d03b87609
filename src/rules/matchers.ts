/** Which visitors the conditions of rules match. Pure. */
import { normalizeLanguage } from '../analytics/capture/language.ts'
import { memoized } from '../lib/lru-cache.ts'
import { type ConditionName, type Conditions, parseHours } from './rule.ts'

/** What conditions look at. Each fact is computed when it is first read, and null if it is unknown. */
export interface RuleVisitor {
  /** Unix milliseconds. */
  readonly atMs: number
  /** The ISO 3166-1 alpha-2 code. */
  readonly country: string | null
  /** The tag of the most preferred language, in lower case. */
  readonly language: string | null
  readonly software: {
    readonly device: string | null
    readonly operating_system: string | null
    readonly browser: string | null
  }
  /** The query of the visited URL. */
  readonly query: Pick<URLSearchParams, 'has'>
}

/** The time of a visit in the time zone of the account. */
export interface LocalTime {
  /** From Monday, 1, to Sunday, 7. */
  readonly weekday: number
  /** The minutes since midnight. */
  readonly minute: number
}

type Matcher<Value> = (value: Value, visitor: RuleVisitor, time: LocalTime, rule: Conditions) => boolean

/** Returns a matcher of what software the visitor uses. */
function software(fact: keyof RuleVisitor['software']): Matcher<readonly string[]> {
  return (values, { software: { [fact]: value } }) => value !== null && values.includes(value)
}

const normalizedRange = memoized(normalizeLanguage)

/** Returns whether a range matches a tag in lower case by basic filtering (RFC 4647 §3.3.1). */
function matchesLanguage(range: string, tag: string): boolean {
  const prefix = normalizedRange(range)
  return prefix === '*' || tag === prefix || tag.startsWith(`${prefix}-`)
}

/** Returns whether the time is on the last night's part of a period such as 22:00-06:00, which belongs to the day before. */
function isAfterMidnight({ minute }: LocalTime, { hours }: Conditions): boolean {
  const period = hours === undefined ? null : parseHours(hours)
  return period !== null && period.start > period.end && minute < period.end
}

/** Returns for each condition whether a visitor matches it. All of a rule's conditions must match. */
export const matchers: { readonly [Name in ConditionName]: Matcher<Required<Conditions>[Name]> } = {
  countries: (codes, { country }) => country !== null && codes.includes(country),
  languages: (ranges, { language }) => language !== null && ranges.some((range) => matchesLanguage(range, language)),
  devices: software('device'),
  operating_systems: software('operating_system'),
  browsers: software('browser'),
  query: (parameters, { query }) =>
    Object.entries(parameters).every(([name, value]) => (value === null ? query.has(name) : query.has(name, value))),
  from: (from, { atMs }) => atMs >= Date.parse(from),
  until: (until, { atMs }) => atMs < Date.parse(until),
  weekdays: (days, _, local, rule) => {
    const day = isAfterMidnight(local, rule) ? ((local.weekday + 5) % 7) + 1 : local.weekday
    return days.includes(day)
  },
  hours: (hours, _, { minute }) => {
    const period = parseHours(hours)
    if (period === null) return false
    const { start, end } = period
    return start < end ? minute >= start && minute < end : minute >= start || minute < end
  },
}
