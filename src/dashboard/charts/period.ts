/** Periods of statistics, and their form in URLs. Days are counted from 1970-01-01. Pure. */

import { dayMs, dayOf, dayText, firstDayOf, hourMs, monthOf } from '../../analytics/calendar.ts'
import { type DayRange, type Interval, parseDay, rangeFaults, rangeOf } from '../../analytics/statistics/day-range.ts'
import { form, optional } from '../../forms/form.ts'
import { Type } from '../../forms/json-schema.ts'
import { oneOf } from '../../forms/rules.ts'
import type { Fields } from '../../http/form-encoding.ts'
import type { Violation } from '../../violations.ts'

const labels = { '2d': '2 days', '7d': '7 days', '30d': '30 days', '90d': '90 days', '12m': '12 months' } as const

type PeriodName = keyof typeof labels

export const periods = Object.entries(labels).map(([name, label]) => ({ name: name as PeriodName, label }))

export interface Period {
  /** Null for a custom range. */
  readonly name: PeriodName | null
  readonly range: DayRange
  readonly interval: Interval
  /** The previous period: as many days as have started, or the same days in earlier months. Null before 1970. */
  readonly before: DayRange | null
}

export interface PeriodReading {
  /** The default period if there are violations. */
  readonly period: Period
  readonly violations: readonly Violation[]
  /** The dates in the form: as typed, or the bounds of the period. */
  readonly typed: { readonly from: string; readonly to: string }
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

/** Reads the period from `period`, or from `from` and `to`. Ignores other fields. */
export function readPeriod({ period, from, to }: Fields, today: number): PeriodReading {
  const { values, violations } = periodForm.read({ period, from, to })
  const wanted = { from: values.from ?? null, to: values.to ?? null, interval: null }
  const isOwn = values.period === null && (wanted.from !== null || wanted.to !== null)
  const read =
    violations.length > 0 || !isOwn
      ? namedPeriod((violations.length === 0 && values.period) || '30d', today)
      : { name: null, ...periodOver(rangeOf(wanted, today), today) }
  const typed = (text: unknown, day: number) =>
    typeof text === 'string' && violations.length > 0 ? text : dayText(day)
  return { period: read, violations, typed: { from: typed(from, read.range.from), to: typed(to, read.range.to) } }
}

export function namedPeriod(name: PeriodName, today: number): Period {
  const count = Number.parseInt(name, 10)
  const byMonth = name.endsWith('m')
  const range = { from: byMonth ? firstDayOf(monthOf(today) - count + 1) : today - count + 1, to: today }
  return { name, ...periodOver(range, today, byMonth ? 'month' : undefined) }
}

/** Returns the rounded current hour if the period is running. `localNow` is the local time, as if it was UTC. */
export function currentHourOf({ range: { from, to } }: Period, localNow: number): number | null {
  const day = dayOf(localNow)
  return day >= from && day <= to ? Math.round((localNow - day * dayMs) / hourMs) : null
}

export function periodQuery({ name, range }: Period): string {
  return name === null ? `from=${dayText(range.from)}&to=${dayText(range.to)}` : `period=${name}`
}

function periodOver(range: DayRange, today: number, interval = intervalOf(range)): Omit<Period, 'name'> {
  const { from } = range
  // Days in the future can't be compared.
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
  return days <= 2 ? 'hour' : days <= 92 ? 'day' : 'month'
}

/** Returns the same day in an earlier month, or the last day of that month. */
function monthsEarlier(of: number, months: number): number {
  const month = monthOf(of)
  const nth = of - firstDayOf(month)
  return Math.min(firstDayOf(month - months) + nth, firstDayOf(month - months + 1) - 1)
}
