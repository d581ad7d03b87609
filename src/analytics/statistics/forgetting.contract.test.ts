import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { startApp } from '../../../test/app.ts'
import type { Json } from '../../../test/client.ts'
import {
  addClicks,
  allDays,
  dayWith,
  factsOf,
  manyPeople,
  removeDay,
  setCreatedAt,
  setTotals,
  storeDay,
  type TestClick,
  totalsOf,
} from '../../../test/days.ts'
import { takeDomainAway } from '../../../test/links.ts'
import { newPlace, type Place } from '../../../test/links-api.ts'
import { eventually } from '../../../test/processes.ts'
import { runs } from '../../../test/runs.ts'
import { person as browser } from '../../../test/visitors.ts'
import { dayText, timeOfHour, toUtcDay } from '../../accounts/calendar.ts'
import { listRecordEvents } from '../../events/store.ts'
import { countPeople, dimensions, maxValues, other } from '../day.ts'

const app = await startApp()
const { storage } = app
const today = toUtcDay(Date.now())
const person: TestClick = { hour: 9, kind: 'people', isFirst: true, values: { countries: 'DE' } }
const bot: TestClick = { hour: 9, kind: 'bots' }
const preview: TestClick = { hour: 10, kind: 'previews' }

const forget = async ({ send }: Place, id: number) => (await send('DELETE', `/links/${id}/clicks`)).status
/** Clicks of people, unique ones, bots and previews of a year. */
async function figures({ send }: Place, query = ''): Promise<number[]> {
  const { body } = await send('GET', `/stats?name=clicks&from=${dayText(today - 364)}&to=${dayText(today + 1)}${query}`)
  const { clicks, unique_clicks, bots, previews } = body.meta
  return [clicks, unique_clicks, bots, previews]
}

describe('DELETE /links/{id}/clicks', () => {
  test('204: resets the link, and keeps the clicks of other links', async () => {
    const place = await newPlace(app)
    const space = await place.stored('/spaces', { name: 'Sales' })
    const [link, sibling] = [await place.link({ space_id: space.id }), await place.link({ space_id: space.id })]
    await addClicks(storage, link.id, today, dayWith([person, person, bot, preview]))
    await addClicks(storage, link.id, today - 1, dayWith([person]))
    await addClicks(storage, sibling.id, today, dayWith([person, bot]))
    assert.equal(await forget(place, link.id), 204)
    assert.deepEqual(await totalsOf(storage, link.id), [0, 0, 0, null])
    assert.deepEqual(await figures(place, `&link_id=${link.id}`), [0, 0, 0, 0])
    for (const query of ['', `&link_id=${sibling.id}`, `&domain_id=${place.domain.id}`, `&space_id=${space.id}`]) {
      assert.deepEqual(await figures(place, query), [1, 1, 1, 0], query)
    }
    const { body } = await place.send('GET', '/stats?name=links')
    assert.deepEqual(body.data, [{ value: sibling.id, clicks: 1 }])
    // The previous day is empty.
    assert.deepEqual(await daysOf(3, place.account), [today])
    const { data } = (await place.send('GET', `/links/${link.id}`)).body
    assert.deepEqual([data.clicks, data.last_clicked_at], [0, null])
    assert.equal(await forget(place, link.id), 204)
    await addClicks(storage, link.id, today, dayWith([person]))
    assert.deepEqual(await figures(place), [2, 2, 1, 0])
  })

  test('204: stores one event with the number of clicks, and no event without clicks', async () => {
    const place = await newPlace(app)
    const { id, alias } = await place.link()
    for (let day = 0; day < 20; day++) await addClicks(storage, id, today - day, dayWith([person, bot]))
    for (let n = 0; n < 2; n++) assert.equal(await forget(place, id), 204)
    const [event, ...others] = await listRecordEvents(storage, place.account, { record: 'link', id }, 10)
    assert.deepEqual([event?.action, event?.changes], ['clicks_deleted', { clicks: [20, 0] }])
    assert.deepEqual([event?.name, event?.actor.kind], [`${place.domain.name}/${alias}`, 'key'])
    assert.ok(event?.requestId)
    assert.ok(!others.some(({ action }) => action === 'clicks_deleted'))
  })

  test('204 for clicks on any day', async () => {
    const place = await newPlace(app)
    const link = await place.link()
    await setCreatedAt(storage, link.id, '1999-12-31T23:59:59.999Z')
    const days = [toUtcDay(Date.parse('1999-12-30')), today - 900, today - 700, today - 40, today - 31, today - 30]
    for (const day of [...days, today - 29, today - 8, today - 7, today - 6, today, today + 1]) {
      await addClicks(storage, link.id, day, dayWith([person, bot]))
    }
    assert.equal(await forget(place, link.id), 204)
    assert.deepEqual(await daysOf(0, link.id), [])
    // The retention deletes a link's days shortly before the account's.
    await eventually(async () => (await daysOf(3, place.account)).length === 0)
    assert.deepEqual(await totalsOf(storage, link.id), [0, 0, 0, null])
  })

  test('204 for totals without days', async () => {
    const place = await newPlace(app)
    const link = await place.link()
    await setTotals(storage, link.id, { clicks: 214, bots: 0, previews: 0, last_clicked_ms: Date.now() })
    assert.equal(await forget(place, link.id), 204)
    assert.deepEqual(await totalsOf(storage, link.id), [0, 0, 0, null])
  })

  test('204: reactivates a link that reached its click limit', async () => {
    const place = await newPlace(app)
    const link = await place.link({ clicks_limit: 1 })
    const statuses = async () => [(await app.visit(link.short_url)).status, (await app.visit(link.short_url)).status]
    assert.deepEqual(await statuses(), [302, 410])
    assert.equal((await place.send('GET', '/links?status=expired')).body.meta.total, 1)
    assert.equal(await forget(place, link.id), 204)
    assert.equal((await place.send('GET', '/links?status=active')).body.meta.total, 1)
    assert.deepEqual(await statuses(), [302, 410])
  })

  test('204: counts later clicks by visitors who ask not to be tracked', async () => {
    const place = await newPlace(app)
    const [link, sibling] = [await place.link(), await place.link()]
    const visit = () => app.visit(link.short_url, { headers: { 'user-agent': browser, 'sec-gpc': '1' } })
    await visit()
    assert.equal(await forget(place, link.id), 204)
    await visit()
    // A deletion writes pending clicks first.
    assert.equal(await forget(place, sibling.id), 204)
    const [clicks, , , last] = (await totalsOf(storage, link.id)) ?? []
    const hour = Math.floor(Date.now() / 3_600_000) * 3_600_000
    assert.deepEqual([clicks, last], [1, hour])
    assert.deepEqual(await figures(place), [1, 0, 0, 0])
  })

  test('404 for a link on a domain that is being removed', async () => {
    const place = await newPlace(app)
    const { id } = await place.link()
    await storage.execute(takeDomainAway({ id: place.domain.id, name: 'leaving.example/' }))
    assert.equal(await forget(place, id), 404)
  })

  test('subtracts values that became `other` from there', async () => {
    const place = await newPlace(app)
    const [link, sibling] = [await place.link(), await place.link()]
    await addClicks(storage, link.id, today, manyPeople(1, 'referrers', 'rare.example'))
    // Between values as rare as each other, chance decides: these are so frequent that it cannot.
    for (let n = 0; n < maxValues; n++) {
      await addClicks(storage, sibling.id, today, manyPeople(1_000_000_000, 'referrers', `host-${n}.example`))
    }
    const before = await factsOf(storage, 3, today, place.account)
    assert.equal(before?.breakdowns.referrers.get(other), 1)
    assert.equal(await forget(place, link.id), 204)
    const left = await factsOf(storage, 3, today, place.account)
    assert.deepEqual(left, await dayAsGroup(sibling.id))
  })

  /** Returns the link's day as its groups count it. */
  async function dayAsGroup(id: number) {
    const own = await factsOf(storage, 0, today, id)
    assert.ok(own)
    own.breakdowns.links.set(id, countPeople(own))
    return own
  }

  test('leaves days without these clicks unchanged', async () => {
    const place = await newPlace(app)
    const space = await place.stored('/spaces', { name: 'Sales' })
    const link = await place.link({ space_id: space.id })
    await addClicks(storage, link.id, today, dayWith([person, bot]))
    await addClicks(storage, link.id, today - 1, dayWith([person, bot]))
    for (const day of [today, today - 1]) await removeDay(storage, 2, day, space.id)
    await storeDay(storage, 2, today, space.id, dayWith([{ ...person, hour: 20 }]))
    assert.equal(await forget(place, link.id), 204)
    assert.deepEqual(await figures(place, `&space_id=${space.id}`), [1, 1, 0, 0])
    assert.deepEqual(await figures(place), [0, 0, 0, 0])
  })

  test('loses no clicks of other links that are counted at the same time', async () => {
    const place = await newPlace(app)
    const links: Json[] = []
    for (let n = 0; n < 4; n++) links.push(await place.link())
    const rounds = 10
    await Promise.all(
      links.map(async ({ id }, n) => {
        for (let round = 0; round < rounds; round++) {
          await addClicks(storage, id, today - (round % 3), dayWith([person]))
          if (n % 2 === 0) assert.equal(await forget(place, id), 204)
        }
      }),
    )
    assert.deepEqual(await figures(place), [2 * rounds, 2 * rounds, 0, 0])
  })
})

/** Returns the stored days of an id of a level. */
async function daysOf(level: number, id: number): Promise<number[]> {
  const rows = await storage.execute(allDays)
  return rows.filter((row) => row.scope === level && row.id === id).map(({ day }) => day)
}

interface Step {
  readonly link: number
  readonly day: number
  /** Null forgets the link's clicks. */
  readonly click: TestClick | null
}

const value = fc.option(fc.constantFrom('DE', 'FR', 'Chrome', 'host.example'), { nil: null })
const click: fc.Arbitrary<TestClick> = fc.record({
  hour: fc.nat({ max: 23 }),
  kind: fc.constantFrom('people', 'people', 'people', 'bots', 'previews'),
  isFirst: fc.boolean(),
  values: fc.record({ countries: value, referrers: value, browsers: value, rules: value }),
})
const step: fc.Arbitrary<Step> = fc.record({
  link: fc.nat({ max: 2 }),
  day: fc.nat({ max: 45 }),
  click: fc.option(click, { freq: 12, nil: null }),
})

test('returns equal sums by hour, day, month, dimension, class and link', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      const place = await newPlace(app)
      const links = [await place.link(), await place.link(), await place.link()].map(({ id }) => id as number)
      for (const link of links) await setCreatedAt(storage, link, new Date(timeOfHour(today - 50, 0)).toISOString())
      let left: { link: number; day: number; click: TestClick }[] = []
      for (const { link, day, click } of steps) {
        if (click === null) assert.equal(await forget(place, links[link] as number), 204)
        else await addClicks(storage, links[link] as number, today - day, dayWith([click]))
        left = click === null ? left.filter((each) => each.link !== link) : [...left, { link, day, click }]
      }
      const days = new Set(left.map(({ day }) => day))
      assert.deepEqual(new Set(await daysOf(3, place.account)), new Set([...days].map((day) => today - day)))
      for (const [n, id] of links.entries()) {
        await checkFigures(
          place,
          `&link_id=${id}`,
          left.filter(({ link }) => link === n).map(({ click }) => click),
        )
        const kinds = (kind: string) => left.filter(({ link, click }) => link === n && click.kind === kind).length
        assert.deepEqual((await totalsOf(storage, id))?.slice(0, 3), [
          kinds('people'),
          kinds('bots'),
          kinds('previews'),
        ])
      }
      const all = left.map(({ click }) => click)
      await checkFigures(place, '', all)
      await checkFigures(place, `&domain_id=${place.domain.id}`, all)
    }),
    { numRuns: runs(30, 5) },
  )
})

async function checkFigures(place: Place, of: string, clicks: readonly TestClick[]): Promise<void> {
  const people = clicks.filter(({ kind }) => kind === 'people')
  const kinds = (kind: string) => clicks.filter((each) => each.kind === kind).length
  const expected = [people.length, people.filter(({ isFirst }) => isFirst).length, kinds('bots'), kinds('previews')]
  const get = async (query: string) => (await place.send('GET', `/stats?${query}${of}`)).body
  const ranges = [
    ...[`interval=day&from=${dayText(today - 45)}`, `interval=month&from=${dayText(today - 45)}`],
    ...[
      `interval=hour&from=${dayText(today - 30)}`,
      `interval=hour&from=${dayText(today - 45)}&to=${dayText(today - 31)}`,
    ],
  ]
  const sums: number[][] = []
  for (const range of ranges) {
    const { data, meta } = await get(`name=clicks&${range}`)
    const total = (count: string) => data.reduce((sum: number, bucket: Json) => sum + bucket[count], 0)
    const names = ['clicks', 'unique_clicks', 'bots', 'previews']
    assert.deepEqual(
      names.map(total),
      names.map((name) => meta[name]),
    )
    sums.push(names.map(total))
  }
  const [byDay, byMonth, recent = [], older = []] = sums
  assert.deepEqual([byDay, byMonth, recent.map((sum, n) => sum + (older[n] ?? 0))], [expected, expected, expected])
  for (const name of dimensions) {
    if ((name === 'addresses' || name === 'rules') && !of.includes('link_id')) continue
    const { data, meta } = await get(`name=${name}&from=${dayText(today - 45)}&per_page=100`)
    assert.equal(meta.clicks, people.length)
    const counted = Map.groupBy(people, ({ values }) => values?.[name] ?? null)
    const shown = new Map(data.map((row: Json) => [row.value, row.clicks]))
    assert.equal(
      data.reduce((sum: number, row: Json) => sum + row.clicks, 0),
      people.length,
    )
    // Short URLs stand for addresses: see `addresses.contract.test.ts`.
    if (name !== 'links' && name !== 'addresses')
      assert.deepEqual(shown, new Map([...counted].map(([key, all]) => [key, all.length])))
  }
  const classes = (await get(`name=classes&sort_by=value&sort=asc&from=${dayText(today - 45)}`)).data
  assert.deepEqual(
    classes.map(({ clicks }: Json) => clicks),
    [kinds('bots'), people.length, kinds('previews')],
  )
}
