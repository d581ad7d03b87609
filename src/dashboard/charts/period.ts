/** Periods of statistics, and their form in URLs. Days are counted from 1970-01-01. Pure. */

import { dayMs, dayText, firstDay, hourMs, toMonth, toUtcDay } from '../../accounts/calendar.ts'
import { type DayRange, type Interval, rangeFaults, resolveRange } from '../../analytics/statistics/day-range.ts'
import { form, optional } from '../../forms/form.ts'
import { day, oneOf } from '../../forms/rules.ts'
import type { Fields } from '../../http/form-encoding.ts'
import type { Violation } from '../../violations.ts'

const labels = { '1d': 'Today', '7d': '7 days', '30d': '30 days', '90d': '90 days', '12m': '12 months' } as const

type PeriodName = keyof typeof labels

export const periods = Object.entries(labels).map(([name, label]) => ({ name: name as PeriodName, label }))

/** Comparisons, and the phrase for the other period in a sentence. */
export const comparisons = {
  none: 'no other period',
  previous: 'previous period',
  year: 'same period last year',
} as const

export type Comparison = keyof typeof comparisons

const defaultComparison = 'previous'

export interface Period {
  /** Null for a custom range. */
  readonly name: PeriodName | null
  readonly range: DayRange
  readonly interval: Interval
  readonly comparison: Comparison
  /**
   * The period to compare with. The previous period has as many days as have started, or the same days in earlier months.
   * Last year has the same dates. Null without a comparison, and before 1970.
   */
  readonly before: DayRange | null
}

export interface PeriodReading {
  /** The default period if there are violations. */
  readonly period: Period
  readonly violations: readonly Violation[]
  /** The dates in the form: as typed, or the bounds of the period. */
  readonly typed: { readonly from: string; readonly to: string }
}

const periodForm = form<{
  period: PeriodName | null
  compare: Comparison | null
  from: number | null
  to: number | null
}>(
  {
    period: optional(oneOf(Object.keys(labels) as PeriodName[], 'The period.'), null),
    compare: optional(oneOf(Object.keys(comparisons) as Comparison[], 'The period to compare with.'), null),
    from: optional(day('The first day.'), null),
    to: optional(day('The last day.'), null),
  },
  [],
  (wanted) => rangeFaults({ ...wanted, interval: null }),
)

/** Reads the period from `period`, or from `from` and `to`, and the comparison from `compare`. Ignores other fields. */
export function readPeriod({ period, compare, from, to }: Fields, today: number): PeriodReading {
  const { values, violations } = periodForm.read({ period, compare, from, to })
  const isValid = violations.length === 0
  const wanted = { from: values.from ?? null, to: values.to ?? null, interval: null }
  const isOwn = values.period === null && (wanted.from !== null || wanted.to !== null)
  const comparison = (isValid && values.compare) || defaultComparison
  const read =
    isValid && isOwn
      ? { name: null, ...periodOver(resolveRange(wanted, today), today, comparison) }
      : namedPeriod((isValid && values.period) || '30d', today, comparison)
  const typed = (text: unknown, day: number) => (typeof text === 'string' && !isValid ? text : dayText(day))
  return { period: read, violations, typed: { from: typed(from, read.range.from), to: typed(to, read.range.to) } }
}

export function namedPeriod(name: PeriodName, today: number, comparison: Comparison = defaultComparison): Period {
  const count = Number.parseInt(name, 10)
  const byMonth = name.endsWith('m')
  const range = { from: byMonth ? firstDay(toMonth(today) - count + 1) : today - count + 1, to: today }
  return { name, ...periodOver(range, today, comparison, byMonth ? 'month' : undefined) }
}

/** Returns the rounded current hour if the period is running. `localNow` is the local time, as if it was UTC. */
export function currentHourOf({ range: { from, to } }: Period, localNow: number): number | null {
  const day = toUtcDay(localNow)
  return day >= from && day <= to ? Math.round((localNow - day * dayMs) / hourMs) : null
}

/** Returns the period without its days before `first`, by hour or by day if few days remain. */
export function periodSince(period: Period, first: number): Period {
  const { from, to } = period.range
  if (first <= from || first > to) return period
  const range = { from: first, to }
  return { ...period, name: null, range, interval: intervalOf(range) }
}

/** Returns the query that shows the period and its comparison. */
export function periodQuery({ name, range, comparison }: Period): string {
  const compare = comparison === defaultComparison ? '' : `&compare=${comparison}`
  return `${name === null ? `from=${dayText(range.from)}&to=${dayText(range.to)}` : `period=${name}`}${compare}`
}

/** Returns the query that shows a bucket of the period: a day by hour, or a month by day. Hours have no such query. */
export function bucketQuery(period: Period, index: number): string {
  const { from, to } = period.range
  if (period.interval === 'day')
    return periodQuery({ ...period, name: null, range: { from: from + index, to: from + index } })
  const month = toMonth(from) + index
  const range = { from: Math.max(from, firstDay(month)), to: Math.min(to, firstDay(month + 1) - 1) }
  return periodQuery({ ...period, name: null, range })
}

/** Returns the day of the period that a day of `before` is compared with. */
export function counterpartOf({ range, comparison, before }: Period, earlier: number): number {
  if (before === null || comparison === 'none') return earlier
  if (comparison === 'previous') return earlier + range.from - before.from
  // If the period starts on Feb 29, the earlier period starts on Feb 28.
  return Math.max(range.from, monthsEarlier(earlier, -12))
}

function periodOver(
  range: DayRange,
  today: number,
  comparison: Comparison,
  interval = intervalOf(range),
): Omit<Period, 'name'> {
  // Days in the future can't be compared.
  const begun = { from: range.from, to: Math.min(range.to, today) }
  const before = begun.to < begun.from ? null : periodBefore(begun, interval, comparison)
  return { range, interval, comparison, before: before !== null && before.from < 0 ? null : before }
}

function periodBefore({ from, to }: DayRange, interval: Interval, comparison: Comparison): DayRange | null {
  if (comparison === 'none') return null
  if (comparison === 'previous' && interval !== 'month') return { from: from - (to - from + 1), to: from - 1 }
  const months = comparison === 'year' ? 12 : toMonth(to) - toMonth(from) + 1
  // Whole months are compared with whole months.
  const isWhole = from === firstDay(toMonth(from)) && to + 1 === firstDay(toMonth(to) + 1)
  const end = isWhole ? firstDay(toMonth(to) - months + 1) - 1 : monthsEarlier(to, months)
  return { from: monthsEarlier(from, months), to: end }
}

function intervalOf({ from, to }: DayRange): Interval {
  const days = to - from + 1
  return days <= 2 ? 'hour' : days <= 92 ? 'day' : 'month'
}

/** Returns the same day in an earlier month, or the last day of that month. */
function monthsEarlier(of: number, months: number): number {
  const month = toMonth(of)
  const nth = of - firstDay(month)
  return Math.min(firstDay(month - months) + nth, firstDay(month - months + 1) - 1)
}
