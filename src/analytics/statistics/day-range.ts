/**
 * The days that statistics are asked for. A day is a number: the days since 1970-01-01, in UTC. Pure.
 */

import { Refusal, type Violation } from '../../errors.ts'
import { dayFrom } from '../calendar.ts'

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

/** The day of a date such as `2026-11-22`, which must be in the calendar and not before 1970. */
export function parseDay(text: string, label: string): number | Refusal {
  const message = `The ${label} date must be in the calendar, such as 2026-11-22, from 1970-01-01 on.`
  return dayFrom(text) ?? new Refusal('invalid_date', message)
}

/** What is asked for; null for a bound that is not given. */
export interface Asked {
  readonly from: number | null
  readonly to: number | null
  readonly interval: Interval | null
}

/**
 * The range that is asked for on the day `today`. Without `from` it has 30 days; without `to` it ends today, or after as many
 * days as are allowed.
 */
export function rangeOf({ from, to, interval }: Asked, today: number): DayRange {
  const end = to ?? today
  if (from === null) return { from: Math.max(0, end - defaultDays + 1), to: end }
  return { from, to: to ?? Math.max(from, Math.min(end, from + maxDaysOf(interval) - 1)) }
}

/** What is wrong with bounds that are valid one by one. */
export function rangeFaults({ from, to, interval }: Asked): Violation[] {
  if (from === null || to === null) return []
  if (to < from) return [{ field: 'to', code: 'before_from', message: 'The to date must not be before the from date.' }]
  const max = maxDaysOf(interval)
  if (to - from < max) return []
  const hint =
    interval === 'hour'
      ? 'Send an earlier to, or another interval.'
      : 'Send an earlier to, and ask for the rest in another request.'
  return [
    {
      field: 'to',
      code: 'range_too_long',
      message: `The range may have at most ${max} days${interval === 'hour' ? ' by hour' : ''}. ${hint}`,
    },
  ]
}

function maxDaysOf(interval: Interval | null): number {
  return interval === 'hour' ? maxDaysByHour : maxDays
}
