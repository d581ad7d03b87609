import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { dayText, utc } from '../../accounts/calendar.ts'
import { type DayRange, rangeFaults } from '../../analytics/statistics/day-range.ts'
import { Series } from '../../analytics/statistics/series.ts'
import { type Fields, repeated } from '../../http/form-encoding.ts'
import {
  bucketQuery,
  type Comparison,
  comparisons,
  currentHourOf,
  namedPeriod,
  type Period,
  periodQuery,
  periodSince,
  periods,
  readPeriod,
} from './period.ts'

const dayOf = (date: string) => Date.parse(date) / 86_400_000
const today = dayOf('2026-11-22')
const datesOf = (range: DayRange | null) => range && `${dayText(range.from)} ${dayText(range.to)}`
const shown = ({ name, range, interval, before }: Period) => [name, datesOf(range), interval, datesOf(before)]
const queryOf = (period: Period): Fields => Object.fromEntries(new URLSearchParams(periodQuery(period)))

test('without the days before a record, a period is shown by day or by hour if few remain', () => {
  for (const [name, first, ...expected] of [
    ['30d', '2026-01-01', '2026-10-24 2026-11-22', 'day'],
    ['30d', '2026-11-20', '2026-11-20 2026-11-22', 'day'],
    ['30d', '2026-11-21', '2026-11-21 2026-11-22', 'hour'],
    ['30d', '2026-11-23', '2026-10-24 2026-11-22', 'day'],
    ['12m', '2026-07-01', '2026-07-01 2026-11-22', 'month'],
    ['12m', '2026-09-01', '2026-09-01 2026-11-22', 'day'],
    ['1d', '2026-11-22', '2026-11-22 2026-11-22', 'hour'],
  ] as const) {
    const { range, interval } = periodSince(namedPeriod(name, today), dayOf(first))
    assert.deepEqual([datesOf(range), interval], expected, `${name} since ${first}`)
  }
})

for (const [query, ...expected] of [
  ['', '30d', '2026-10-24 2026-11-22', 'day', '2026-09-24 2026-10-23'],
  ['period=1d', '1d', '2026-11-22 2026-11-22', 'hour', '2026-11-21 2026-11-21'],
  ['period=7d', '7d', '2026-11-16 2026-11-22', 'day', '2026-11-09 2026-11-15'],
  ['period=90d', '90d', '2026-08-25 2026-11-22', 'day', '2026-05-27 2026-08-24'],
  ['period=12m', '12m', '2025-12-01 2026-11-22', 'month', '2024-12-01 2025-11-22'],
  ['period=7d&from=2026-01-01', '7d', '2026-11-16 2026-11-22', 'day', '2026-11-09 2026-11-15'],
  ['period=&from=&to=', '30d', '2026-10-24 2026-11-22', 'day', '2026-09-24 2026-10-23'],
  ['from=2026-11-01', null, '2026-11-01 2026-11-22', 'day', '2026-10-10 2026-10-31'],
  ['to=2026-03-30', null, '2026-03-01 2026-03-30', 'day', '2026-01-30 2026-02-28'],
  ['from=2026-11-05&to=2026-11-05', null, '2026-11-05 2026-11-05', 'hour', '2026-11-04 2026-11-04'],
  ['from=2026-03-01&to=2026-07-31', null, '2026-03-01 2026-07-31', 'month', '2025-10-01 2026-02-28'],
  ['from=2025-12-01&to=2026-04-30', null, '2025-12-01 2026-04-30', 'month', '2025-07-01 2025-11-30'],
  ['period=7d&compare=none', '7d', '2026-11-16 2026-11-22', 'day', null],
  ['period=7d&compare=previous', '7d', '2026-11-16 2026-11-22', 'day', '2026-11-09 2026-11-15'],
  ['period=7d&compare=year', '7d', '2026-11-16 2026-11-22', 'day', '2025-11-16 2025-11-22'],
  ['period=12m&compare=year', '12m', '2025-12-01 2026-11-22', 'month', '2024-12-01 2025-11-22'],
  ['from=2026-11-20&to=2026-12-24&compare=year', null, '2026-11-20 2026-12-24', 'day', '2025-11-20 2025-11-22'],
  // Leap years.
  ['from=2024-02-20&to=2024-03-05&compare=year', null, '2024-02-20 2024-03-05', 'day', '2023-02-20 2023-03-05'],
  ['from=2024-02-29&to=2024-02-29&compare=year', null, '2024-02-29 2024-02-29', 'hour', '2023-02-28 2023-02-28'],
  ['from=2024-02-01&to=2024-02-29&compare=year', null, '2024-02-01 2024-02-29', 'day', '2023-02-01 2023-02-28'],
  ['from=2025-02-01&to=2025-02-28&compare=year', null, '2025-02-01 2025-02-28', 'day', '2024-02-01 2024-02-29'],
  ['from=1970-01-01&to=1970-01-10', null, '1970-01-01 1970-01-10', 'day', null],
] as const) {
  test(`the period of "${query}" is ${expected[1]} by ${expected[2]}`, () => {
    const fields = Object.fromEntries(new URLSearchParams(query))
    const { period, violations } = readPeriod({ ...fields, search: 'x' }, today)
    assert.deepEqual([shown(period), violations], [expected, []])
  })
}

test("returns the API's violations and the default period for invalid dates", () => {
  const faultsOf = (fields: Fields) => {
    const { period, violations } = readPeriod(fields, today)
    assert.deepEqual(period, namedPeriod('30d', today))
    return violations
  }
  const [from, to] = ['2026-11-22', '2026-11-21']
  assert.deepEqual(faultsOf({ from, to }), rangeFaults({ from: dayOf(from), to: dayOf(to), interval: null }))
  const codesOf = (fields: Fields) => faultsOf(fields).map(({ field, code }) => `${field} ${code}`)
  assert.deepEqual(codesOf({ from: '2020-01-01', to }), ['to range_too_long'])
  assert.deepEqual(codesOf({ from: '2026-02-30', to: 'x', period: '7d' }), ['from invalid_date', 'to invalid_date'])
  assert.deepEqual(codesOf({ period: repeated, from: repeated }), ['period not_single', 'from not_single'])
  const [unknown] = faultsOf({ period: 'constructor' })
  const [comparison] = faultsOf({ compare: 'month' })
  assert.equal(comparison?.message, 'The compare must be one of none, previous, year.')
  assert.equal(unknown?.message, 'The period must be one of 1d, 7d, 30d, 90d, 12m.')
})

test('reads a period from its own query string', () => {
  const days = fc.integer({ min: 0, max: 40_000 })
  fc.assert(
    fc.property(days, days, fc.integer({ min: 1, max: 366 }), (now, from, length) => {
      for (const { name } of periods) {
        for (const comparison of Object.keys(comparisons) as Comparison[]) {
          const period = namedPeriod(name, now, comparison)
          assert.deepEqual(readPeriod(queryOf(period), now).period, period)
        }
      }
      const { period } = readPeriod({ from: dayText(from), to: dayText(from + length - 1) }, now)
      assert.deepEqual([period.range, period.name], [{ from, to: from + length - 1 }, null])
      assert.deepEqual(readPeriod(queryOf(period), now).period, period)
    }),
  )
})

test('each bucket has a query for its days', () => {
  const { period } = readPeriod({ from: '2026-01-15', to: '2026-07-31' }, today)
  assert.equal(bucketQuery(period, 0), 'from=2026-01-15&to=2026-01-31')
  assert.equal(bucketQuery(period, 6), 'from=2026-07-01&to=2026-07-31')
  const compared = readPeriod({ from: '2026-11-01', to: '2026-11-10', compare: 'year' }, today).period
  assert.equal(bucketQuery(compared, 9), 'from=2026-11-10&to=2026-11-10&compare=year')
})

test('counts started buckets, and returns the hour of a running period', () => {
  const at = (time: string) => Date.parse(`2026-11-22T${time}Z`)
  const ofDays = (from: number, to: number) => readPeriod({ from: dayText(from), to: dayText(to) }, today).period
  for (const [period, now, started, currentHour] of [
    [namedPeriod('1d', today), at('00:00:00'), 1, 0],
    [namedPeriod('1d', today), at('20:29:59'), 21, 20],
    [namedPeriod('30d', today), at('23:31:00'), 30, 24],
    [namedPeriod('12m', today), at('12:00:00'), 12, 12],
    [ofDays(today - 9, today - 5), at('12:00:00'), 5, null],
    [ofDays(today - 1, today - 1), at('12:00:00'), 24, null],
    [ofDays(today - 4, today + 5), at('12:00:00'), 5, 12],
    [ofDays(today + 4, today + 5), at('12:00:00'), 0, null],
  ] as const) {
    assert.equal(currentHourOf(period, now), currentHour)
    assert.equal(new Series(period.range, period.interval, utc).startedAt(now), started)
  }
})
