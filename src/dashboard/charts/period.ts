/**
 * The periods of the pages with statistics, and how addresses name them. Days are numbers, as in `analytics/statistics/day-range.ts`. Pure.
 */

import { dayText } from '../../analytics/days.ts'
import {
  type DayRange,
  firstDayOf,
  type Interval,
  monthOf,
  parseDay,
  rangeFaults,
  rangeOf,
} from '../../analytics/statistics/day-range.ts'
import type { Violation } from '../../errors.ts'
import { form, optional } from '../../forms/form.ts'
import { Type } from '../../forms/json-schema.ts'
import { oneOf } from '../../forms/rules.ts'
import type { Fields } from '../../http/form-encoding.ts'

const labels = {
  '2d': '2 days',
  '7d': '7 days',
  '30d': '30 days',
  '90d': '90 days',
  '12m': '12 months',
} as const

export type PeriodName = keyof typeof labels

/** What a page offers, in order. */
export const periods = Object.entries(labels).map(([name, label]) => ({ name: name as PeriodName, label }))

const [dayMs, hourMs] = [86_400_000, 3_600_000]
const defaultName = '30d'
/** By hour, a range of one's own has at most two days, by day three months. */
const [mostByHour, mostByDay] = [2, 92]

export interface Period {
  /** Null for a range of the user's own. */
  readonly name: PeriodName | null
  readonly range: DayRange
  readonly interval: Interval
  /** As many days before as have begun, or the same days as many months earlier; null where there are none since 1970. */
  readonly before: DayRange | null
}

export interface PeriodReading {
  /** The default period, if anything is at fault. */
  readonly period: Period
  readonly violations: readonly Violation[]
  /** The bounds as the form shows them: as they were typed, or else those of the period. */
  readonly typed: { readonly from: string; readonly to: string }
}

/** How far a period has come. */
export interface Progress {
  /** Hours, days or months that have begun. */
  readonly started: number
  /** The hour of the present day, rounded; null when the period is over or has not begun. */
  readonly currentHour: number | null
}

const day = { schema: Type.String({ format: 'date' }), parse: parseDay }

const periodForm = form<{ period: PeriodName | null; from: number | null; to: number | null }>(
  {
    period: optional(oneOf(Object.keys(labels) as PeriodName[], 'The period.'), null),
    from: optional(day, null),
    to: optional(day, null),
  },
  [],
  (wanted) => rangeFaults({ ...wanted, interval: null }),
)

/** The period that the fields of an address ask for: `period`, or else `from` and `to`. Others are not looked at. */
export function readPeriod({ period, from, to }: Fields, today: number): PeriodReading {
  const { values, violations } = periodForm.read({ period, from, to })
  const wanted = { from: values.from ?? null, to: values.to ?? null, interval: null }
  const isOwn = values.period === null && (wanted.from !== null || wanted.to !== null)
  const read =
    violations.length > 0 || !isOwn
      ? namedPeriod((violations.length === 0 && values.period) || defaultName, today)
      : { name: null, ...periodOver(rangeOf(wanted, today), today) }
  const typed = (text: unknown, day: number) =>
    typeof text === 'string' && violations.length > 0 ? text : dayText(day)
  return { period: read, violations, typed: { from: typed(from, read.range.from), to: typed(to, read.range.to) } }
}

/** The period with this name that ends today. */
export function namedPeriod(name: PeriodName, today: number): Period {
  const count = Number.parseInt(name, 10)
  const byMonth = name.endsWith('m')
  const range = { from: byMonth ? firstDayOf(monthOf(today) - count + 1) : today - count + 1, to: today }
  return { name, ...periodOver(range, today, byMonth ? 'month' : undefined) }
}

/** How far the period has come at the time `now`, in milliseconds. */
export function progressOf({ range: { from, to }, interval }: Period, now: number): Progress {
  const day = Math.floor(now / dayMs)
  const sinceMidnight = now - day * dayMs
  const isRunning = day >= from && day <= to
  const last = Math.min(day, to)
  const begun = {
    hour: (last - from) * 24 + (isRunning ? Math.floor(sinceMidnight / hourMs) + 1 : 24),
    day: last - from + 1,
    month: monthOf(last) - monthOf(from) + 1,
  }[interval]
  return { started: day < from ? 0 : begun, currentHour: isRunning ? Math.round(sinceMidnight / hourMs) : null }
}

/** The period as the query of an address, without `?`. */
export function periodQuery({ name, range }: Period): string {
  return name === null ? `from=${dayText(range.from)}&to=${dayText(range.to)}` : `period=${name}`
}

function periodOver(range: DayRange, today: number, interval = intervalOf(range)): Omit<Period, 'name'> {
  const { from } = range
  // What has not begun cannot be compared.
  const to = Math.min(range.to, today)
  const months = monthOf(to) - monthOf(from) + 1
  const before =
    interval === 'month'
      ? { from: monthsEarlier(from, months), to: monthsEarlier(to, months) }
      : { from: from - (to - from + 1), to: from - 1 }
  return { range, interval, before: before.from < 0 || to < from ? null : before }
}

function intervalOf({ from, to }: DayRange): Interval {
  const days = to - from + 1
  return days <= mostByHour ? 'hour' : days <= mostByDay ? 'day' : 'month'
}

/** The same day of an earlier month, or the last one that this month has. */
function monthsEarlier(of: number, months: number): number {
  const month = monthOf(of)
  const nth = of - firstDayOf(month)
  return Math.min(firstDayOf(month - months) + nth, firstDayOf(month - months + 1) - 1)
}
