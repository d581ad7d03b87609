/** Clicks are counted in days and hours of UTC, whatever the time zone of the server. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { dayText } from '../src/accounts/calendar.ts'
import type { Click } from '../src/analytics/click-store.ts'
import { clickTexts } from '../src/analytics/transfer.ts'
import { shortUrls } from '../src/names/short-url.ts'
import type { Db } from '../src/storage/port.ts'
import { clickLevels } from '../src/storage/schema.ts'
import { startApp } from './app.ts'
import { keptDays, keptTotals, openClicks, sumsOf } from './clicks.ts'
import { newDomain, newLink, twoNodes } from './links.ts'
import { eventually } from './processes.ts'

/** Days on which some time zone skips or repeats an hour. */
const moments = ['2026-03-08', '2026-04-05', '2026-09-27', '2026-11-01', '2026-11-22'].map((date) => Date.parse(date))
const hourMs = 3_600_000

const someClicks = fc.array(
  fc.record({
    link: fc.nat(1),
    atMs: fc
      .tuple(fc.constantFrom(...moments), fc.integer({ min: -14 * hourMs, max: 36 * hourMs }))
      .map(([moment, ms]) => moment + ms),
    class: fc.constantFrom('person' as const, 'bot' as const),
  }),
  { minLength: 1, maxLength: 60 },
)

/** Changes the time zone of this process until the test ends. */
function moveTo(t: TestContext, zone: string): void {
  const before = process.env.TZ
  process.env.TZ = zone
  t.after(() => {
    if (before === undefined) delete process.env.TZ
    else process.env.TZ = before
  })
}

/** The clicks of each hour, by its text in UTC such as `2026-11-01T05`. */
function hoursOf(clicks: Iterable<readonly [hour: string, count: number]>): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const [hour, count] of clicks) if (count > 0) sums[hour] = (sums[hour] ?? 0) + count
  return sums
}

async function exportedHours(storage: Db) {
  const dates = { from: undefined, to: undefined }
  const texts = await Array.fromAsync(clickTexts(storage, 1, 'jsonl', dates, shortUrls('https://{domain}')))
  const lines = texts.join('').trimEnd().split('\n').slice(1, -1)
  return hoursOf(
    lines
      .map((line) => JSON.parse(line).click_day)
      .flatMap(({ day, hours }) =>
        hours.map((each: Hour) => [textOf(day, each.hour), each.clicks + each.bots] as const),
      ),
  )
}

interface Hour {
  readonly hour: number
  readonly clicks: number
  readonly bots: number
}

const textOf = (day: string, hour: number) => `${day}T${String(hour).padStart(2, '0')}`

for (const [zone, minutes] of [
  ['Pacific/Auckland', -780],
  ['America/St_Johns', 210],
  ['Asia/Kathmandu', -345],
  ['Pacific/Pago_Pago', 660],
] as const) {
  test(`counts clicks in hours and days of UTC, which agree with the totals, in ${zone}`, async (t) => {
    moveTo(t, zone)
    assert.equal(new Date('2026-11-22T12:00:00Z').getTimezoneOffset(), minutes)
    await fc.assert(
      fc.asyncProperty(someClicks, async (some) => {
        await using ending = new AsyncDisposableStack()
        const later = (work: () => unknown) => void ending.defer(async () => void (await work()))
        const { storage, account, domain } = await twoNodes(later)
        const links = [
          await newLink(storage, { account, domain }, 'one'),
          await newLink(storage, { account, domain }, 'two'),
        ]
        const { store } = await openClicks(storage.location, later)
        const clicks = some.map(
          ({ link, ...rest }): Click => ({
            link: links[link] as number,
            ...rest,
            count: 1,
            facts: null,
            visitorUnder: null,
          }),
        )
        await store.write(1, clicks)
        const expected = hoursOf(some.map(({ atMs }) => [new Date(atMs).toISOString().slice(0, 13), 1]))
        const days = await keptDays(storage)
        for (const level of [clickLevels.link, clickLevels.domain, clickLevels.account]) {
          const kept = days.filter((each) => each.level === level)
          const hours = kept.flatMap(({ day, facts }) =>
            [...facts.hours].map(([hour, { people, bots }]) => [textOf(dayText(day), hour), people + bots] as const),
          )
          assert.deepEqual(hoursOf(hours), expected, `level ${level}`)
        }
        assert.deepEqual(await exportedHours(storage), expected)
        for (const { link_id, clicks: people, bots } of await keptTotals(storage)) {
          const own = days.filter(({ level, id }) => level === clickLevels.link && id === link_id)
          const sum = (name: 'people' | 'bots') => own.reduce((all, { facts }) => all + sumsOf(facts)[name], 0)
          assert.deepEqual([people, bots], [sum('people'), sum('bots')])
        }
      }),
      { numRuns: 8 },
    )
  })
}

test('counts a visit in Auckland in its hour and day of UTC', async (t) => {
  moveTo(t, 'Pacific/Auckland')
  // In Auckland it is the next day, 09:30.
  t.mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-11-21T20:30:00.000Z') })
  const app = await startApp()
  const domain = await newDomain(app.storage, app.account, 'go.acme.com')
  await newLink(app.storage, { account: app.account, domain }, 'sale')
  await app.directory.refresh()
  assert.equal((await app.visit('http://go.acme.com/sale')).status, 302)
  const path = '/api/v1/stats?name=clicks&from=2026-11-21&to=2026-11-21'
  await eventually(async () => (await app.send('GET', path)).body.meta.clicks === 1)
  for (const [interval, start] of [
    ['hour', '2026-11-21T20:00:00.000Z'],
    ['day', '2026-11-21T00:00:00.000Z'],
  ]) {
    const { data } = (await app.send('GET', `${path}&interval=${interval}`)).body
    const buckets = data.filter(({ clicks }: { clicks: number }) => clicks > 0)
    assert.deepEqual(
      buckets.map(({ start_at }: { start_at: string }) => start_at),
      [start],
    )
  }
})
