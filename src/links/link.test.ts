import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { runs } from '../../test/runs.ts'
import { parseTime } from '../forms/rules.ts'
import { parseBoundedText } from '../lib/text.ts'
import { Refusal } from '../violations.ts'
import { type Lifetime, parsePassword, statusOf } from './link.ts'

test('rejects 10,000 characters', () => {
  for (const long of ['a'.repeat(10_000), '💩'.repeat(5_000), `e${'\u0301'.repeat(10_000)}`, '\u1d160'.repeat(5_000)]) {
    assert.equal((parseBoundedText(long, 255) as Refusal).code, 'too_long')
    assert.equal((parsePassword(long) as Refusal).code, 'too_long')
    assert.equal((parseTime(long) as Refusal).code, 'invalid_time')
  }
  for (const digits of ['1'.repeat(10_000), `2026-11-20T12:00:00.${'1'.repeat(10_000)}Z`, '2026-'.repeat(2_000)]) {
    assert.ok(parseTime(digits) instanceof Refusal)
  }
})

describe('a time', () => {
  const date = fc.date({ min: new Date('0001-01-02'), max: new Date('9999-12-30'), noInvalidDate: true })

  test('is parsed in any offset', () => {
    fc.assert(
      fc.property(date, fc.integer({ min: -1439, max: 1439 }), fc.boolean(), (time, offset, isLower) => {
        const local = new Date(time.getTime() + offset * 60_000).toISOString().slice(0, -1)
        const [hours, minutes] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60]
        const zone = `${offset < 0 ? '-' : '+'}${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`
        fc.pre(/^\d{4}-/.test(local))
        const written = isLower ? local.toLowerCase() : local
        assert.equal(parseTime(written + zone), time.toISOString())
        assert.equal(
          parseTime(`${time.toISOString().slice(0, 16).replace('T', ' ')}`),
          `${time.toISOString().slice(0, 16)}:00.000Z`,
        )
      }),
    )
  })

  test('is rejected only for days that do not exist', () => {
    const number = (max: number, digits: number) =>
      fc.integer({ min: 0, max }).map((value) => String(value).padStart(digits, '0'))
    fc.assert(
      fc.property(number(9998, 4), number(13, 2), number(32, 2), (year, month, day) => {
        fc.pre(year !== '0000')
        const date = `${year}-${month}-${day}`
        const time = parseTime(`${date} 12:30`)
        if (time instanceof Refusal) assert.throws(() => Temporal.PlainDate.from(date), RangeError)
        else assert.equal(time, `${Temporal.PlainDate.from(date)}T12:30:00.000Z`)
      }),
      { numRuns: runs(2_000) },
    )
  })
})

test('the status is the first that applies: disabled, expired, scheduled, active', () => {
  const times = ['2026-01-01T00:00:00.000Z', '2026-06-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z']
  const bound = fc.option(fc.constantFrom(...times))
  const lifetime: fc.Arbitrary<Lifetime> = fc.record({
    disabled: fc.boolean(),
    active_period_start_at: bound,
    active_period_end_at: bound,
    clicks_limit: fc.option(fc.integer({ min: 1, max: 3 })),
    clicks: fc.nat(4),
  })
  fc.assert(
    fc.property(lifetime, fc.constantFrom(...times), (link, now) => {
      const at = (time: string | null, otherwise: number) => (time === null ? otherwise : Date.parse(time))
      const isOver = Date.parse(now) >= at(link.active_period_end_at, Infinity)
      const isUsedUp = link.clicks >= (link.clicks_limit ?? Infinity)
      const isEarly = Date.parse(now) < at(link.active_period_start_at, -Infinity)
      const holds = { disabled: link.disabled, expired: isOver || isUsedUp, scheduled: isEarly, active: true }
      assert.equal(statusOf(link, now), Object.entries(holds).find(([, does]) => does)?.[0])
    }),
    { numRuns: runs(1_000) },
  )
})
