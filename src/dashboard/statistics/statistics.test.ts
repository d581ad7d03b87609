import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stopClock } from '../../../test/clock.ts'
import { dayOf } from '../../../test/days.ts'
import { textsOf } from '../../../test/well-formed.ts'
import { emptyDay, encodeDay, ensureHour } from '../../analytics/day.ts'
import type { Fields } from '../../http/form-encoding.ts'
import type { Storage } from '../../storage/port.ts'
import type { Query } from '../../storage/schema.ts'
import { clicksOverTime } from './clicks-over-time.ts'
import { Statistics } from './statistics.ts'

const created = '2020-01-01T00:00:00.000Z'
const [subject, facts] = [{ level: 'account', id: 1 } as const, emptyDay()]
for (let hour = 0; hour < 24; hour++) Object.assign(ensureHour(facts, hour), { people: hour + 1, unique: 1 })
const row = { ...encodeDay(facts), breakdowns: '[]' }

/** Returns statistics with 300 clicks a day, from a day on. */
function statisticsOf(query: Fields, { firstDay = 0, clicksRetention = 0 } = {}): Statistics {
  // The days are among the parameters of the query.
  const execute = async (query: Query<unknown>) => {
    const days = query
      .compile()
      .parameters.map(Number)
      .filter((day) => day > 10_000)
    return days.flatMap((day) => (day >= firstDay ? [{ ...row, day }] : []))
  }
  const services = { storage: { execute } as unknown as Storage, shortUrl: () => '', clicksRetention }
  return new Statistics(
    services,
    { account: 1, session: { account: { time_zones: '[["UTC",0]]' } }, query },
    subject,
    '/app',
  )
}

test('the table adds up to the figures above it', async (t) => {
  stopClock(t)
  for (const date of ['2026-11-23', '2024-02-29', '2025-02-28', '2025-03-31']) {
    for (const hour of [0.2, 9.3, 9.7, 23.9]) {
      t.mock.timers.setTime((Date.parse(date) / 86_400_000 + hour / 24) * 86_400_000)
      for (const [period, compare] of [
        ['1d', 'previous'],
        ['30d', 'previous'],
        ['12m', 'previous'],
        ['1d', 'year'],
        ['30d', 'year'],
        ['12m', 'year'],
      ] as const) {
        const shown = await clicksOverTime(statisticsOf({ period, compare }), created)
        assert.match(shown.text, /Unique visitors are counted per link and day, and added up\./)
        const [, figure] = shown.text.match(/title="([\d,]+) in the (?:previous period|same period last year)"/) ?? []
        const last = [...shown.text.matchAll(/<td>([\d,]*)<\/td><\/tr>/g)].map(([, clicks = '']) => clicks)
        assert.equal(last.at(-1), figure, `${period} ${compare} on ${date} at ${hour}`)
        const clicks = last.map((text) => Number(text.replaceAll(',', '')))
        assert.equal(
          clicks.slice(0, -1).reduce((sum, each) => sum + each, 0),
          clicks.at(-1),
        )
      }
    }
  }
})

test('compares days by date: Feb 29 has no counterpart, and joins Feb 28 of the next year', async () => {
  const columnOf = async (from: string, to: string) => {
    const shown = await clicksOverTime(statisticsOf({ from, to, compare: 'year' }), created)
    return textsOf(shown, 'td').filter((_, place) => place % 5 === 4)
  }
  assert.deepEqual(await columnOf('2024-02-28', '2024-03-01'), ['300', '', '300', '600'])
  assert.deepEqual(await columnOf('2025-02-27', '2025-03-01'), ['300', '600', '300', '1,200'])
})

const today = dayOf('2026-11-23')
for (const [title, query, options, expected] of [
  ['a running period', { period: '30d' }, {}, 'vs. Sep 25 – Oct 24, 2026, up to the same hour.'],
  ['last year', { period: '30d', compare: 'year' }, {}, 'vs. Oct 25 – Nov 23, 2025, up to the same hour.'],
  ['an earlier period', { from: '2026-03-01', to: '2026-03-31' }, {}, 'vs. Jan 29 – Feb 28, 2026.'],
  ['no comparison', { period: '30d', compare: 'none' }, {}, undefined],
  [
    'a period without visits',
    { period: '7d' },
    { firstDay: today - 6 },
    'vs. Nov 10 – 16, 2026: no visits then, so there is no comparison.',
  ],
  [
    'a deleted period',
    { period: '7d', compare: 'year' },
    { firstDay: today - 6, clicksRetention: 90 },
    'vs. Nov 17 – 23, 2025: these statistics have been deleted, so there is no comparison.',
  ],
  [
    'a partly deleted period',
    { period: '7d' },
    { firstDay: today - 10, clicksRetention: 10 },
    'vs. Nov 10 – 16, 2026, up to the same hour. Statistics from before Nov 13, 2026 have been deleted.',
  ],
] as const) {
  test(`says what the figures are compared with: ${title}`, async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-11-23T15:00:00Z') })
    const shown = await clicksOverTime(statisticsOf(query, options), created)
    const [sentence] = textsOf(shown, 'p').filter((text) => text.startsWith('vs.'))
    assert.equal(sentence?.replaceAll('\u2009', ' '), expected)
    assert.equal(shown.text.includes('class="change"'), expected?.includes('no comparison') === false)
  })
}

for (const [title, period, firstDay, createdAt, rows, first] of [
  ['with the record', '30d', today - 2, '2026-11-20T10:00:00Z', 4, 'Fri, Nov 20, 2026'],
  ['with visits from before the record', '30d', today - 3, '2026-11-22T10:00:00Z', 4, 'Fri, Nov 20, 2026'],
  ['by day in the first months', '12m', today - 9, '2026-11-14T10:00:00Z', 10, 'Sat, Nov 14, 2026'],
  ['by hour in the first days', '30d', today, '2026-11-22T22:10:00Z', 18, 'Nov 22, 2026, 22:00'],
  ['with the hour of the record', '1d', today + 1, '2026-11-23T12:10:00Z', 4, 'Nov 23, 2026, 12:00'],
  ['with two hours at least', '1d', today + 1, '2026-11-23T14:50:00Z', 2, 'Nov 23, 2026, 14:00'],
] as const) {
  test(`begins a chart ${title}`, async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-11-23T15:00:00Z') })
    const shown = await clicksOverTime(statisticsOf({ period }, { firstDay }), createdAt)
    const [, ...names] = textsOf(shown, 'tr').slice(0, -1)
    assert.deepEqual([names.length, names[0]?.slice(0, first.length)], [rows, first])
  })
}
