import { type Calendar, dayMs, firstDay, timeOfHour, toMonth } from '../../accounts/calendar.ts'
import { addCounts, type Counts, type HourCounts, noCounts, shownCounts } from '../day.ts'
import type { DayRange, Interval } from './day-range.ts'

export interface Bucket extends Counts {
  /** RFC 3339. */
  readonly start_at: string
}

/** Clicks over time: a bucket for each hour, day or month of a range, including empty ones. */
export class Series {
  readonly #range: DayRange
  readonly #interval: Interval
  /** In Unix milliseconds, ascending. */
  readonly #starts: readonly number[]
  readonly #counts: readonly HourCounts[]
  /** The start of each bucket in local time, as if it was UTC: two hours can have the same. */
  readonly localStarts: readonly number[]

  constructor(range: DayRange, interval: Interval, calendar: Calendar) {
    this.#range = range
    this.#interval = interval
    if (interval === 'hour') {
      const starts = calendar.hoursBetween(range.from, range.to)
      // A date that the zone skipped has no hours.
      this.#starts = starts.length > 0 ? starts : [calendar.startOf(range.from)]
      this.localStarts = this.#starts.map((start) => calendar.localTimeAt(start))
    } else {
      const days = firstDays(range, interval)
      this.#starts = days.map((day) => calendar.startOf(day))
      this.localStarts = days.map((day) => day * dayMs)
    }
    this.#counts = this.#starts.map(noCounts)
  }

  /** Adds hours of days. Leaves out days that are not in the range. */
  add(hours: Iterable<readonly [day: number, hour: number, HourCounts]>): this {
    const { from, to } = this.#range
    for (const [day, hour, counts] of hours) {
      if (day >= from && day <= to) addCounts(this.#counts[this.#findIndex(day, hour)] as HourCounts, counts)
    }
    return this
  }

  /** Returns the number of buckets that have started at a time in Unix milliseconds. */
  startedAt(ms: number): number {
    return this.#starts.filter((start) => start <= ms).length
  }

  get buckets(): Bucket[] {
    return this.#counts.map((counts, at) => ({
      start_at: new Date(this.#starts[at] as number).toISOString(),
      ...shownCounts(counts),
    }))
  }

  /** The sums of all buckets. */
  get totals(): Counts {
    const totals = noCounts()
    for (const counts of this.#counts) addCounts(totals, counts)
    return shownCounts(totals)
  }

  #findIndex(day: number, hour: number): number {
    const { from } = this.#range
    if (this.#interval === 'month') return toMonth(day) - toMonth(from)
    return this.#interval === 'day' ? day - from : indexAmong(this.#starts, timeOfHour(day, hour))
  }
}

/**
 * Returns the index of the last start up to a time, or the first. Imported hours can be of another zone, and even start
 * before the range. A binary search, because a month has 744 hours and as many starts.
 */
function indexAmong(starts: readonly number[], ms: number): number {
  let [low, high] = [0, starts.length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((starts[middle] as number) <= ms) low = middle
    else high = middle - 1
  }
  return low
}

/** Returns the first day of each bucket. A month starts on its first day, even if the range does not. */
function firstDays({ from, to }: DayRange, interval: 'day' | 'month'): number[] {
  if (interval === 'day') return Array.from({ length: to - from + 1 }, (_, n) => from + n)
  const first = toMonth(from)
  return Array.from({ length: toMonth(to) - first + 1 }, (_, n) => firstDay(first + n))
}
