/** Clicks over time as charts get them, and how hours, days and months are named. All times are of UTC. Pure. */
import type { Interval } from '../../stats/day-range.ts'
import type { Bucket } from '../../stats/series.ts'

export interface ClicksOverTime {
  /** All of a range, empty ones too; at least one. */
  readonly buckets: readonly Bucket[]
  /** How many of them have begun, from the first. */
  readonly begun: number
  /** Null unless the last of those that have begun still runs. */
  readonly hour: number | null
  /** The clicks of the period before, from its first bucket on. */
  readonly before?: readonly number[]
  /** The clicks of the period before up to the time of it that it is now. */
  readonly beforeUntilNow?: number
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

/** The name of the bucket at this place, and whether it still runs. */
export function shownName({ buckets, begun, hour, interval }: ClicksOverTime, place: number): string {
  const name = bucketName(buckets[place]?.start_at ?? '', interval)
  return hour !== null && place === begun - 1 ? `${name}, so far` : name
}

/**
 * The clicks of the period before, beside each bucket that has begun. What still runs has those up to the same time, so that all
 * of them add up to `beforeUntilNow`.
 */
export function clicksBefore({ before, beforeUntilNow, begun }: ClicksOverTime): readonly number[] | undefined {
  if (before === undefined || beforeUntilNow === undefined) return before?.slice(0, begun)
  const over = before.slice(0, Math.max(0, begun - 1))
  return [...over, beforeUntilNow - over.reduce((sum, clicks) => sum + clicks, 0)]
}

/** For the axis: `22 Nov`, `15:00`, `Nov 2026`. The hour in which a day begins has the day. */
export function bucketLabel(startAt: string, interval: Interval): string {
  const date = new Date(startAt)
  return short[interval === 'hour' && date.getUTCHours() === 0 ? 'day' : interval].format(date)
}

/** The places of at most four labels, ascending, the first and the last of all among them. Hours have one where a day begins. */
export function labelledPlaces(count: number, interval: Interval): number[] {
  const last = count - 1
  if (interval === 'hour') {
    const step = hourStep(count)
    const places = Array.from({ length: Math.ceil(count / step) }, (_, n) => n * step)
    return [...new Set([0, ...places.filter((place) => place <= last - step / 2), last])]
  }
  const steps = Math.min(3, last)
  return steps === 0 ? [0] : Array.from({ length: steps + 1 }, (_, n) => Math.round((n * last) / steps))
}

function hourStep(count: number): number {
  const days = Math.ceil(count / 24)
  return days > 2 ? 24 * Math.ceil(days / 3) : 12 * days
}
