/** The days that statistics cover, in days since 1970-01-01. Pure. */
import { Refusal, type Violation } from '../../violations.ts'

/** Both included. */
export interface DayRange {
  readonly from: number
  readonly to: number
}

export const intervals = ['hour', 'day', 'month'] as const
export type Interval = (typeof intervals)[number]

export const maxDays = 366
export const maxDaysByHour = 31
export const defaultDays = 30

/** Null for a missing bound. */
interface RangeQuery {
  readonly from: number | null
  readonly to: number | null
  readonly interval: Interval | null
}

/** Returns the requested range. Without `from` it has 30 days. Without `to` it ends today or at its maximum length. */
export function resolveRange({ from, to, interval }: RangeQuery, today: number): DayRange {
  const end = to ?? today
  if (from === null) return { from: Math.max(0, end - defaultDays + 1), to: end }
  return { from, to: to ?? Math.max(from, Math.min(end, from + maxRangeDays(interval) - 1)) }
}

/** Returns the violation of a range whose bounds are valid days. */
export function rangeFaults({ from, to, interval }: RangeQuery): Violation[] {
  if (from === null || to === null) return []
  if (to < from) return [new Refusal('before_from').at('to')]
  const max = maxRangeDays(interval)
  if (to - from < max) return []
  return [new Refusal(interval === 'hour' ? 'range_too_long.by_hour' : 'range_too_long', { most: max }).at('to')]
}

function maxRangeDays(interval: Interval | null): number {
  return interval === 'hour' ? maxDaysByHour : maxDays
}
