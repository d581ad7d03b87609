import { firstDayOf, monthOf, startOf } from '../calendar.ts'
import { addCounts, type HourCounts, noCounts, shownCounts } from '../day.ts'
import type { DayRange, Interval } from './day-range.ts'

/** Human clicks, the unique ones among them, and clicks of programs. */
export type Counts = ReturnType<typeof shownCounts>

export interface Bucket extends Counts {
  /** RFC 3339. */
  readonly start_at: string
}

/** Clicks over time: a bucket for each hour, day or month of a range, including empty ones. */
export class Series {
  readonly #range: DayRange
  readonly #interval: Interval
  readonly #starts: readonly string[]
  readonly #counts: readonly HourCounts[]

  constructor(range: DayRange, interval: Interval) {
    this.#range = range
    this.#interval = interval
    this.#starts = startsOf(range, interval)
    this.#counts = this.#starts.map(noCounts)
  }

  /** Adds the hours of a day of the range. */
  add(day: number, hours: Iterable<readonly [hour: number, HourCounts]>): void {
    for (const [hour, counts] of hours) addCounts(this.#counts[this.#placeOf(day, hour)] as HourCounts, counts)
  }

  get buckets(): Bucket[] {
    return this.#counts.map((counts, at) => ({ start_at: this.#starts[at] as string, ...shownCounts(counts) }))
  }

  /** The sums of all buckets. */
  get totals(): Counts {
    const totals = noCounts()
    for (const counts of this.#counts) addCounts(totals, counts)
    return shownCounts(totals)
  }

  #placeOf(day: number, hour: number): number {
    const { from } = this.#range
    if (this.#interval === 'month') return monthOf(day) - monthOf(from)
    return this.#interval === 'hour' ? (day - from) * 24 + hour : day - from
  }
}

/** A month starts on its first day, even if the range does not. */
function startsOf({ from, to }: DayRange, interval: Interval): string[] {
  const first = monthOf(from)
  if (interval === 'month')
    return Array.from({ length: monthOf(to) - first + 1 }, (_, n) => startOf(firstDayOf(first + n)))
  const days = Array.from({ length: to - from + 1 }, (_, n) => from + n)
  if (interval === 'day') return days.map((day) => startOf(day))
  return days.flatMap((day) => Array.from({ length: 24 }, (_, hour) => startOf(day, hour)))
}
