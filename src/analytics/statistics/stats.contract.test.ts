/** `GET /stats`: the clicks over time, and by value. */
import assert from 'node:assert/strict'
import { after, describe, mock, test } from 'node:test'
import fc from 'fast-check'
import { sql } from 'kysely'
import { startApp } from '../../../test/app.ts'
import type { Json } from '../../../test/client.ts'
import { addClicks, dayOf, dayWith, manyPeople, storeDay, type TestClick } from '../../../test/days.ts'
import { fillLinks, takeDomainAway } from '../../../test/links.ts'
import { newPlace, type Place } from '../../../test/links-api.ts'
import { runs } from '../../../test/runs.ts'
import { systemActor } from '../../access/actor.ts'
import { query } from '../../storage/schema.ts'
import { beginTagMerge } from '../../tags/store.ts'
import { dimensions, emptyDay, ensureHour, other, type Value } from '../day.ts'

mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-11-22T15:00:00.000Z') })
after(() => mock.timers.reset())

const app = await startApp()
const place = await newPlace(app)
const space = await place.stored('/spaces', { name: 'Sales' })
const second = await place.stored('/domains', { name: 'second.example' })
const link = await place.link({ space_id: space.id })
const sibling = await place.link({ domain_id: second.id })

const german = { countries: 'DE', browsers: 'Chrome', referrers: 'www.google.com', languages: 'de' }
const french = { countries: 'FR', browsers: 'Firefox', referrers: 'acme.com', languages: 'fr' }
const person = (hour: number, values: TestClick['values'] = german, isFirst = true): TestClick => ({
  ...{ hour, kind: 'people', isFirst },
  ...(values && { values }),
})
const bot = { hour: 3, kind: 'bots' } as const
const preview = { hour: 4, kind: 'previews' } as const

const add = (of: Json, date: string, ...clicks: TestClick[]) =>
  addClicks(app.storage, of.id, dayOf(date), dayWith(clicks))
await add(link, '2026-11-22', person(0), person(14, german, false), bot)
await add(link, '2026-11-20', person(23, french), preview, preview)
await add(link, '2026-09-30', person(12))
await add(sibling, '2026-11-22', person(14, french), person(15, {}), bot, bot)

const ask = (query: string) => place.send('GET', `/stats?${query}`)
async function answered(query: string): Promise<Json> {
  const answer = await ask(query)
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}
const counts = ({ clicks, unique_clicks, bots, previews }: Json) => [clicks, unique_clicks, bots, previews]
const filled = ({ data }: Json) =>
  data
    .filter((bucket: Json) => counts(bucket).some((count) => count > 0))
    .map((bucket: Json) => [bucket.start_at, ...counts(bucket)])
const pairs = ({ data }: Json) => data.map(({ value, clicks }: Json) => `${JSON.stringify(value)} ${clicks}`).join()

describe('clicks over time', () => {
  test('200 with the last 30 days by default, including empty days', async () => {
    const { data, meta } = await answered('name=clicks')
    assert.equal(data.length, 30)
    assert.deepEqual(Object.keys(data[0]), ['start_at', 'clicks', 'unique_clicks', 'bots', 'previews'])
    assert.deepEqual([data[0].start_at, data[29].start_at], ['2026-10-24T00:00:00.000Z', '2026-11-22T00:00:00.000Z'])
    assert.deepEqual(filled({ data }), [
      ['2026-11-20T00:00:00.000Z', 1, 1, 0, 2],
      ['2026-11-22T00:00:00.000Z', 4, 3, 3, 0],
    ])
    assert.deepEqual(meta, {
      ...{ from: '2026-10-24', to: '2026-11-22', interval: 'day', time_zone: 'UTC' },
      ...{ clicks: 5, unique_clicks: 4, bots: 3, previews: 2 },
    })
  })

  test('200 by hour', async () => {
    const body = await answered('name=clicks&interval=hour&from=2026-11-21&to=2026-11-22')
    assert.equal(body.data.length, 48)
    assert.deepEqual(
      [body.data[1].start_at, body.data[47].start_at],
      ['2026-11-21T01:00:00.000Z', '2026-11-22T23:00:00.000Z'],
    )
    assert.deepEqual(filled(body), [
      ['2026-11-22T00:00:00.000Z', 1, 1, 0, 0],
      ['2026-11-22T03:00:00.000Z', 0, 0, 3, 0],
      ['2026-11-22T14:00:00.000Z', 2, 1, 0, 0],
      ['2026-11-22T15:00:00.000Z', 1, 1, 0, 0],
    ])
  })

  test('200 by month, with only the clicks of the range', async () => {
    const { data, meta } = await answered('name=clicks&interval=month&from=2025-12-15&to=2026-11-21')
    assert.deepEqual(
      data.map((bucket: Json) => bucket.start_at.slice(0, 10)),
      ['2025-12-01', ...Array.from({ length: 11 }, (_, n) => `2026-${String(n + 1).padStart(2, '0')}-01`)],
    )
    assert.deepEqual(filled({ data }), [
      ['2026-09-01T00:00:00.000Z', 1, 1, 0, 0],
      ['2026-11-01T00:00:00.000Z', 1, 1, 0, 2],
    ])
    assert.deepEqual([meta.interval, ...counts(meta)], ['month', 2, 2, 0, 2])
  })

  for (const [query, from, to] of [
    ['from=2026-11-10', '2026-11-10', '2026-11-22'],
    ['from=2026-11-22', '2026-11-22', '2026-11-22'],
    ['from=2026-12-24', '2026-12-24', '2026-12-24'],
    ['from=2024-01-01', '2024-01-01', '2024-12-31'],
    ['from=2026-10-01&interval=hour', '2026-10-01', '2026-10-31'],
    ['to=2026-03-30', '2026-03-01', '2026-03-30'],
    ['to=1970-01-02', '1970-01-01', '1970-01-02'],
    ['to=9999-12-31', '9999-12-02', '9999-12-31'],
    ['from=2025-11-22&to=2026-11-22', '2025-11-22', '2026-11-22'],
    ['from=2026-10-23&to=2026-11-22&interval=hour', '2026-10-23', '2026-11-22'],
    ['from=&to=&interval=', '2026-10-24', '2026-11-22'],
    ['from=2024-02-29&to=2024-02-29', '2024-02-29', '2024-02-29'],
  ] as const) {
    test(`200 from ${from} to ${to} for ${query}`, async () => {
      const { meta } = await answered(`name=clicks&${query}`)
      assert.deepEqual([meta.from, meta.to], [from, to])
    })
  }

  test('200 for one link, one domain or one space', async () => {
    for (const [query, expected] of [
      [`link_id=${link.id}`, [3, 2, 1, 2]],
      [`link_id=${sibling.id}`, [2, 2, 2, 0]],
      [`domain_id=${place.domain.id}`, [3, 2, 1, 2]],
      [`domain_id=${second.id}`, [2, 2, 2, 0]],
      [`space_id=${space.id}`, [3, 2, 1, 2]],
    ] as const) {
      assert.deepEqual(counts((await answered(`name=clicks&${query}`)).meta), expected, query)
    }
  })
})

describe('clicks by value', () => {
  test('200 with human clicks by value, the most frequent first', async () => {
    for (const [name, expected] of [
      ['countries', '"FR" 2,"DE" 2,null 1'],
      ['referrers', '"www.google.com" 2,"acme.com" 2,null 1'],
      ['browsers', '"Firefox" 2,"Chrome" 2,null 1'],
      ['operating_systems', 'null 5'],
      ['devices', 'null 5'],
      ['languages', '"fr" 2,"de" 2,null 1'],
      ['links', `${link.id} 3,${sibling.id} 2`],
      ['classes', '"person" 5,"bot" 3,"preview" 2'],
    ] as const) {
      const body = await answered(`name=${name}`)
      assert.equal(pairs(body), expected, name)
      assert.equal(body.meta.clicks, name === 'classes' ? 10 : 5)
      assert.deepEqual(body.meta.range, { from: '2026-10-24', to: '2026-11-22' })
    }
  })

  test('200 for one link, one domain or one space', async () => {
    const of = `link_id=${sibling.id}`
    assert.equal(pairs(await answered(`name=countries&${of}`)), 'null 1,"FR" 1')
    assert.equal(pairs(await answered(`name=links&${of}`)), `${sibling.id} 2`)
    assert.equal(pairs(await answered(`name=classes&${of}`)), '"person" 2,"bot" 2,"preview" 0')
    assert.equal(pairs(await answered(`name=links&${of}&to=2026-11-21`)), '')
    assert.equal(pairs(await answered(`name=links&domain_id=${second.id}`)), `${sibling.id} 2`)
    assert.equal(pairs(await answered(`name=countries&space_id=${space.id}&from=2026-09-01`)), '"DE" 3,"FR" 1')
  })

  test('200 for a range without clicks: no values, but all classes', async () => {
    const { data, links, meta } = await answered('name=countries&from=2026-01-01&to=2026-01-31')
    const path = `${app.origin}/api/v1/stats`
    const first = `${path}?name=countries&from=2026-01-01&to=2026-01-31&page=1`
    assert.deepEqual(data, [])
    assert.deepEqual(links, { first, last: first, prev: null, next: null })
    assert.deepEqual(meta, {
      ...{ current_page: 1, from: null, last_page: 1, path, per_page: 10, to: null, total: 0, total_is_exact: true },
      ...{ range: { from: '2026-01-01', to: '2026-01-31' }, time_zone: 'UTC', clicks: 0 },
    })
    assert.equal(pairs(await answered('name=classes&from=2026-01-01&to=2026-01-31')), '"preview" 0,"person" 0,"bot" 0')
  })
})

describe('clicks of a tag', () => {
  const value = fc.constantFrom(null, 'DE', 'x.example', '"\\', other)
  const click = fc.record({
    hour: fc.nat(23),
    kind: fc.constantFrom('people', 'people', 'bots', 'previews'),
    isFirst: fc.boolean(),
    values: fc.record({ countries: value, referrers: value }),
  })
  const day = fc.record({ ago: fc.nat(40), clicks: fc.array(click, { minLength: 1, maxLength: 3 }) })

  /** Returns the figures of several statistics, added up by value or time. */
  async function sumsOf({ send }: Place, name: string, queries: readonly string[]) {
    const sums = new Map<string, number>()
    const size = name === 'clicks' ? '' : '&per_page=100'
    for (const query of queries) {
      const { body } = await send('GET', `/stats?name=${name}&from=2026-10-01&${query}${size}`)
      const figures = body.data.flatMap(({ value, start_at, ...counts }: Json) =>
        Object.entries(counts).map(([figure, count]) => [JSON.stringify([value, start_at, figure]), count]),
      )
      for (const [key, count] of figures) sums.set(key, (sums.get(key) ?? 0) + count)
    }
    return new Map([...sums].filter(([, count]) => count > 0))
  }

  test('200 with the sums of the links that have it, before and after a merge', async () => {
    const link = fc.record({ tags: fc.subarray(['red', 'blue']), days: fc.array(day, { maxLength: 3 }) })
    await fc.assert(
      fc.asyncProperty(fc.array(link, { maxLength: 4 }), async (links) => {
        const own = await newPlace(app)
        const [red, blue] = [await own.stored('/tags', { name: 'red' }), await own.stored('/tags', { name: 'blue' })]
        const ids = new Map<Json, number>()
        for (const each of links) {
          const { id } = await own.link({ tags: each.tags })
          ids.set(each, id)
          for (const { ago, clicks } of each.days) {
            await addClicks(app.storage, id, dayOf('2026-11-22') - ago, dayWith(clicks))
          }
        }
        const check = async ({ id }: Json, has: (tags: readonly string[]) => boolean) => {
          const of = links.filter(({ tags }) => has(tags)).map((each) => `link_id=${ids.get(each)}`)
          for (const name of ['clicks', 'classes', 'links', 'countries', 'referrers']) {
            assert.deepEqual(await sumsOf(own, name, [`tag_id=${id}`]), await sumsOf(own, name, of), name)
          }
        }
        await check(red, (tags) => tags.includes('red'))
        await beginTagMerge(app.storage, systemActor(own.account), blue.id, null, red.id)
        await check(red, (tags) => tags.length > 0)
      }),
      { numRuns: runs(5) },
    )
  })

  test('200 without links on removed domains, and without other accounts', async () => {
    const [own, stranger] = [await newPlace(app), await newPlace(app)]
    const gone = await own.stored('/domains', { name: `gone.${own.domain.name}` })
    const links = [await own.link({ tags: 'x' }), await own.link({ tags: 'x', domain_id: gone.id })]
    for (const each of [...links, await stranger.link({ tags: 'x' })]) await add(each, '2026-11-22', person(1))
    const [tag] = (await own.send('GET', '/tags')).body.data
    const clicks = async () => (await own.send('GET', `/stats?name=clicks&tag_id=${tag.id}`)).body.meta.clicks
    assert.equal(await clicks(), 2)
    await app.storage.execute(takeDomainAway({ id: gone.id, name: 'gone.example/' }))
    assert.equal(await clicks(), 1)
  })

  test('200 for a tag with 30,000 links; beyond 75,000 values, the rarest are combined as other', async () => {
    const { account, domain, send, stored } = await newPlace(app)
    const { id: tag } = await stored('/tags', { name: 'large' })
    // Separately, because PostgreSQL limits the time of a statement.
    const portion = 1_000
    for (let from = 1; from < 30_000; from += portion) {
      await fillLinks(app.storage, { account, domain: domain.id }, from, portion)
    }
    const links = query
      .selectFrom('links')
      .where('account_id', '=', account)
      .select(['account_id', sql.lit(tag).as('tag_id'), 'id'])
    const [first] = await app.storage.execute(links.orderBy('id').limit(1))
    for (let from = Number(first?.id), left = 30_000; left > 0; left -= portion, from += portion) {
      const some = links.where('id', '>=', from).where('id', '<', from + portion)
      await app.storage.execute(
        query.insertInto('link_tags').columns(['account_id', 'tag_id', 'link_id']).expression(some),
      )
    }
    const hosts = Array.from({ length: 377 }, (_, n) => manyPeople(200, 'referrers', `a${n}.example`))
    const last = hosts.length - 1
    for (const [n, facts] of hosts.entries()) {
      if (n < last) facts.breakdowns.referrers.clear()
      for (let host = 0; n < last && host < 200; host++) facts.breakdowns.referrers.set(`host-${n}-${host}.example`, 1)
      await storeDay(app.storage, 0, dayOf('2026-11-22'), Number(first?.id) + n, facts)
    }
    const show = async (name: string) => (await send('GET', `/stats?name=${name}&tag_id=${tag}&from=2026-11-21`)).body
    assert.equal((await show('clicks')).meta.clicks, 377 * 200)
    const { data, meta } = await show('referrers')
    // The last link's value is the most frequent. Half of the others were combined when they were too many.
    const shown = [
      { value: 'other', clicks: 37_500 },
      { value: 'a376.example', clicks: 200 },
    ]
    assert.deepEqual([data.slice(0, 2), meta.clicks, meta.total], [shown, 377 * 200, 37_702])
    assert.equal((await show('links')).meta.total, 377)
  })
})

describe('order of values', async () => {
  const own = await newPlace(app)
  const { id } = await own.link()
  const hosts = ['b', 'B', 'a', 'ab', '\u{ffff}', '\u{10000}', '\u{10001}', 'é', null, other] as const
  for (const [n, host] of hosts.entries()) {
    await addClicks(app.storage, id, dayOf('2026-11-22'), manyPeople(n < 2 ? 5 : 1, 'referrers', host))
  }
  const sorted = ['B', 'a', 'ab', 'b', 'other', 'é', '\u{ffff}', '\u{10000}', '\u{10001}', null]
  const values = async (query: string) =>
    (await own.send('GET', `/stats?name=referrers&${query}`)).body.data.map(({ value }: Json) => value)

  test('200 by value in code point order, with null last, and reversed', async () => {
    assert.deepEqual(await values('sort_by=value&sort=asc'), sorted)
    assert.deepEqual(await values('sort_by=value'), sorted.toReversed())
  })

  test('200 by clicks, with ties by value in the same direction', async () => {
    const rare = sorted.filter((value) => value !== 'B' && value !== 'b')
    assert.deepEqual(await values('sort=asc'), [...rare, 'B', 'b'])
    assert.deepEqual(await values(''), [...rare, 'B', 'b'].toReversed())
  })

  test('200 with links by id, followed by other links', async () => {
    const ids = [(await own.link()).id, (await own.link()).id]
    const facts = emptyDay()
    Object.assign(ensureHour(facts, 0), { people: 114, unique: 0 })
    for (const dimension of dimensions) facts.breakdowns[dimension].set(null, 114)
    facts.breakdowns.links.clear()
    for (const [value, people] of [
      [ids[1], 1],
      [ids[0], 1],
      [987_654_321, 3],
      [other, 107],
      [null, 2],
    ] as [Value, number][]) {
      facts.breakdowns.links.set(value, people)
    }
    await storeDay(app.storage, 1, dayOf('2026-01-01'), own.domain.id, facts)
    const query = `/stats?name=links&domain_id=${own.domain.id}&from=2026-01-01&to=2026-01-01&sort_by=value&sort=asc`
    assert.equal(pairs((await own.send('GET', query)).body), `${ids[0]} 1,${ids[1]} 1,"other" 107,null 5`)
  })
})

describe('pages', async () => {
  const own = await newPlace(app)
  const { id } = await own.link()
  const total = 27
  for (let n = 0; n < total; n++) {
    await addClicks(app.storage, id, dayOf('2026-11-22') - n, manyPeople(n + 1, 'referrers', `host-${n}.example`))
  }
  const page = (query: string) => own.send('GET', `/stats?name=referrers&${query}`)

  test('200 with a page, links to other pages and its position', async () => {
    const { body, headers } = await page('page=2&per_page=10')
    const path = `${app.origin}/api/v1/stats`
    const to = (number: number) => `${path}?name=referrers&per_page=10&page=${number}`
    const expected = Array.from({ length: 10 }, (_, n) => `"host-${16 - n}.example" ${17 - n}`)
    assert.equal(pairs(body), expected.join())
    assert.deepEqual(body.links, { first: to(1), last: to(3), prev: to(1), next: to(3) })
    assert.deepEqual(body.meta, {
      ...{ current_page: 2, from: 11, last_page: 3, path, per_page: 10, to: 20, total, total_is_exact: true },
      ...{ range: { from: '2026-10-24', to: '2026-11-22' }, time_zone: 'UTC', clicks: (total * (total + 1)) / 2 },
    })
    assert.equal(
      headers.link,
      `<${to(1)}>; rel="first", <${to(1)}>; rel="prev", <${to(3)}>; rel="next", <${to(3)}>; rel="last"`,
    )
  })

  test('200 with each value on one page, and no values after the last page', async () => {
    const seen: string[] = []
    for (let path = '/stats?name=referrers'; path !== ''; ) {
      const { body } = await own.send('GET', path)
      seen.push(...body.data.map(({ value }: Json) => value))
      path = body.links.next?.replace(`${app.origin}/api/v1`, '') ?? ''
    }
    assert.deepEqual([seen.length, new Set(seen).size], [total, total])
    const { body } = await page('page=9007199254740991&per_page=100')
    assert.deepEqual([body.data, body.meta.from, body.meta.to, body.links.next], [[], null, null, null])
  })

  test('200 with 10, 25, 50 or 100 values per page, 10 by default', async () => {
    for (const [query, size] of [
      ['', 10],
      ['per_page=', 10],
      ['per_page=25', 25],
      ['per_page=50', total],
      ['per_page=100', total],
    ] as const) {
      assert.equal((await page(query)).body.data.length, size, query)
    }
  })
})
