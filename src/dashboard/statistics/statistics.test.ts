import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stopClock } from '../../../test/clock.ts'
import { dayOf } from '../../analytics/calendar.ts'
import { emptyDay, encodeDay, hourOf } from '../../analytics/day.ts'
import type { Storage } from '../../storage/port.ts'
import type { Query } from '../../storage/schema.ts'
import { clicksOverTime } from './clicks-over-time.ts'
import { noClicksYet, Statistics } from './statistics.ts'

test('offers to open an active link without clicks, and explains the status of other links', () => {
  const short_url = 'https://go.acme.com/summer'
  assert.match(noClicksYet({ short_url, status: 'active' }).text, /href="https:\/\/go\.acme\.com\/summer"/)
  for (const status of ['scheduled', 'expired', 'disabled'] as const) {
    const { text } = noClicksYet({ short_url, status })
    assert.ok(text.includes(`This link is ${status}`) && !text.includes('href'))
  }
})

test('the table adds up to the figures above it', async (t) => {
  stopClock(t)
  const facts = emptyDay()
  for (let hour = 0; hour < 24; hour++) Object.assign(hourOf(facts, hour), { people: hour + 1, unique: 1 })
  const { hours } = encodeDay(facts)
  // The days are among the parameters of the query.
  const execute = async (query: Query<unknown>) =>
    query.compile().parameters.flatMap((day) => (Number(day) > 10_000 ? [{ day, hours }] : []))
  const subject = { scope: 'account', id: 1 } as const
  for (const hour of [0, 0.2, 9.3, 9.7, 23.9]) {
    t.mock.timers.setTime((dayOf(Date.now()) + hour / 24) * 86_400_000)
    for (const period of ['2d', '30d', '12m']) {
      const session = { account: { time_zones: '[["UTC",0]]' } }
      const request = { account: 1, session, query: { period } }
      const services = { storage: { execute } as unknown as Storage, shortUrl: () => '' }
      const shown = await clicksOverTime(new Statistics(services, request, subject, '/app'))
      assert.match(shown.text, /Unique visitors are counted per link and day, and added up\./)
      const [, figure] = shown.text.match(/title="([\d,]+) in the previous period"/) ?? []
      const last = [...shown.text.matchAll(/<td>([\d,]+)<\/td><\/tr>/g)].map(([, clicks = '']) => clicks)
      assert.equal(last.at(-1), figure, `${period} at ${hour}`)
      const clicks = last.map((text) => Number(text.replaceAll(',', '')))
      assert.equal(
        clicks.slice(0, -1).reduce((sum, each) => sum + each, 0),
        clicks.at(-1),
      )
    }
  }
})
