/** Clicks over time as charts get them, and how hours, days and months are named. All times are of UTC. Pure. */
import type { Interval } from '../../stats/day-range.ts'
import type { Bucket } from '../../stats/series.ts'

export interface ClicksOverTime {
  /** All of a range, empty ones too; at least one. */
  readonly buckets: readonly Bucket[]
  /** The clicks of the period before, from its first bucket on. */
  readonly before?: readonly number[]
  readonly interval: Interval
  readonly title: string
}

const utc = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', ...options })
const [year, month, day, weekday] = ['numeric', 'short', 'numeric', 'short'] as const
const time = { hour: '2-digit', minute: '2-digit' } as const

const long = {
  hour: utc({ day, month, year, ...time }),
  day: utc({ weekday, day, month, year }),
  month: utc({ month: 'long', year }),
}
const short = { hour: utc(time), day: utc({ day, month }), month: utc({ month, year }) }

/** In full: `Sun, 22 Nov 2026`, `22 Nov 2026, 15:00`, `November 2026`. */
export function bucketName(startAt: string, interval: Interval): string {
  return long[interval].format(new Date(startAt))
}

/** For the axis: `22 Nov`, `15:00`, `Nov 2026`. The hour in which a day begins has the day. */
export function bucketLabel(startAt: string, interval: Interval): string {
  const date = new Date(startAt)
  return short[interval === 'hour' && date.getUTCHours() === 0 ? 'day' : interval].format(date)
}

/**
 * The places of at most four labels, ascending. Days and months are counted from the last one; hours from the first, so that
 * the days begin where a label stands.
 */
export function labelledPlaces(count: number, interval: Interval): number[] {
  const fromStart = interval === 'hour'
  const step = fromStart ? hourStep(count) : Math.ceil((count - 1) / 3) || 1
  const places = Array.from({ length: Math.ceil(count / step) }, (_, n) => n * step)
  return fromStart ? places : places.map((place) => count - 1 - place).reverse()
}

function hourStep(count: number): number {
  const days = Math.ceil(count / 24)
  return days > 2 ? 24 * Math.ceil(days / 4) : 6 * days
}
