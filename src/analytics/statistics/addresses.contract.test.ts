/** Clicks of a link by its addresses: in their records, and in `GET /stats?name=addresses`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { startApp } from '../../../test/app.ts'
import type { Json } from '../../../test/client.ts'
import { addressesIn } from '../../../test/link-addresses.ts'
import { fresh, newPlace, type Place } from '../../../test/links-api.ts'
import { eventually } from '../../../test/processes.ts'
import { runs } from '../../../test/runs.ts'
import { person } from '../../../test/visitors.ts'
import { dayText, toUtcDay } from '../../accounts/calendar.ts'
import type { BatchWriter } from '../../storage/port.ts'
import { query } from '../../storage/schema.ts'
import { ClickStore } from '../click-store.ts'

const app = await startApp({ shortUrl: 'https://{domain}' })
const place = await newPlace(app)
const { send, stored } = place
const { link, add, addressesOf, update } = addressesIn(app, place)

const pairs = ({ data }: Json) => data.map(({ value, clicks }: Json) => `${value} ${clicks}`)
const statsOf = async (of: Json, query = '') =>
  pairs((await send('GET', `/stats?name=addresses&link_id=${of.id}${query}`)).body)
const clicksOf = async (of: Json) => (await send('GET', `/links/${of.id}`)).body.data.clicks
const addressClicks = async (of: Json) =>
  (await send('GET', `${addressesOf(of)}?sort=asc`)).body.data.map(({ clicks }: Json) => clicks)

/** Visits a short URL, and resolves when the link has this many clicks. */
async function visit(of: Json, urls: readonly string[], total: number, headers = {}): Promise<void> {
  for (const url of urls) {
    const { status } = await app.visit(url.replace('https:', 'http:'), {
      headers: { 'user-agent': person, ...headers },
    })
    assert.equal(status, 302)
  }
  await eventually(async () => (await clicksOf(of)) === total)
}

test('clicks count for the address and the link, also for visitors who ask not to be tracked; bots only for the link', async () => {
  const other = await stored('/domains', { name: `${fresh('other')}.example` })
  const to = await link()
  const [one, two] = [await add(to, { alias: fresh('One') }), await add(to, { domain_id: other.id, exact: true })]
  assert.deepEqual([await statsOf(to), await addressClicks(to)], [[], [0, 0]])
  await visit(to, [to.short_url, one.short_url, one.short_url.toLowerCase(), two.short_url], 4)
  await visit(to, [one.short_url], 5, { 'sec-gpc': '1' })
  await visit(to, [two.short_url], 6, { dnt: '1' })
  await visit(to, [two.short_url], 6, { 'user-agent': 'curl/8.0' })
  assert.deepEqual(await addressClicks(to), [3, 2])
  assert.deepEqual(await statsOf(to), [`${one.short_url} 3`, `${two.short_url} 2`, `${to.short_url} 1`])
  const { meta } = (await send('GET', `/stats?name=addresses&link_id=${to.id}&per_page=10&sort_by=value&sort=asc`)).body
  assert.deepEqual([meta.clicks, meta.total], [6, 3])
})

test('the main address has the clicks of deleted addresses, and addresses keep theirs when they change places', async () => {
  const to = await link()
  const [one, two] = [await add(to), await add(to)]
  await visit(to, [to.short_url, one.short_url, one.short_url, two.short_url], 4)
  await send('DELETE', `${addressesOf(to)}/${one.id}`)
  assert.deepEqual(await statsOf(to), [`${to.short_url} 3`, `${two.short_url} 1`])
  const promoted = (await update(to, { alias: two.alias, keep_address: true })).body.data
  assert.equal(promoted.clicks, 4)
  assert.deepEqual(await statsOf(to), [`${promoted.short_url} 3`, `${to.short_url} 1`])
  await visit(to, [to.short_url], 5)
  assert.deepEqual(
    [await statsOf(to), await addressClicks(to)],
    [[`${promoted.short_url} 3`, `${to.short_url} 2`], [2]],
  )
  await update(to, { alias: to.alias })
  assert.deepEqual(await statsOf(to), [`${to.short_url} 5`])
  const kept = { alias: fresh('kept'), keep_address: true }
  assert.deepEqual([(await update(to, kept)).status, await addressClicks(to)], [200, [2]])
  const [{ id }] = (await send('GET', `/events?record=link&record_id=${to.id}`)).body.data
  assert.equal((await send('POST', `/events/${id}/undo`)).status, 200)
  assert.deepEqual([(await update(to, kept)).status, await addressClicks(to)], [200, [2]])
})

test('an address returns with its clicks, and loses them with the link’s clicks', async () => {
  const to = await link()
  const one = await add(to)
  await visit(to, [to.short_url, one.short_url, one.short_url], 3)
  await send('DELETE', `${addressesOf(to)}/${one.id}`)
  const [{ id }] = (await send('GET', `/events?record=link&record_id=${to.id}`)).body.data
  assert.equal((await send('POST', `/events/${id}/undo`)).status, 200)
  assert.deepEqual(await addressClicks(to), [2])
  assert.deepEqual(await statsOf(to), [`${one.short_url} 2`, `${to.short_url} 1`])
  await send('DELETE', `/links/${to.id}`)
  const [deletion] = (await send('GET', `/events?type=link.deleted&record=link&record_id=${to.id}`)).body.data
  await send('POST', `/events/${deletion.id}/undo`)
  assert.deepEqual([await addressClicks(to), await clicksOf(to)], [[2], 3])
  const renamed = (await update(to, { alias: fresh('renamed'), keep_address: true })).body.data
  assert.deepEqual([await addressClicks(renamed), await clicksOf(renamed)], [[1, 2], 3])
  await send('DELETE', `${addressesOf(to)}/${one.id}`)
  const [{ id: gone }] = (await send('GET', `/events?record=link&record_id=${to.id}`)).body.data
  assert.equal((await send('DELETE', `/links/${to.id}/clicks`)).status, 204)
  assert.equal((await send('POST', `/events/${gone}/undo`)).status, 200)
  assert.deepEqual([await addressClicks(to), await statsOf(to)], [[0, 0], []])
})

test('an exhausted click limit counts clicks at all addresses', async () => {
  const to = await link({ clicks_limit: 2 })
  const one = await add(to)
  await visit(to, [to.short_url, one.short_url], 2)
  const { status } = await app.visit(one.short_url.replace('https:', 'http:'), { headers: { 'user-agent': person } })
  assert.equal(status, 410)
})

const which = fc.nat(20)
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('click' as const),
      which,
      address: which,
      day: fc.nat(20),
      count: fc.integer({ min: 1, max: 3 }),
      isPerson: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('add' as const), which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('drop' as const), which, address: which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('rename' as const), which, keeps: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('promote' as const), which, address: which, keeps: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('forget' as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), which }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('undo' as const), which: fc.nat(5) }) },
)
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

const clicks = new ClickStore(app.storage as unknown as BatchWriter, 'random')
let batch = 0

/** Applies a step to one of an account's links. */
async function apply({ send, account }: Place, taken: Step): Promise<void> {
  const all = taken.do === 'undo' ? '/events?record=link' : '/links?sort=asc'
  const records: Json[] = (await send('GET', all)).body.data
  const of = records[taken.which % (records.length || 1)]
  if (of === undefined) return
  const path = `/links/${of.id}`
  const own = query.selectFrom('addresses').select(['id', 'alias', 'main']).where('account_id', '=', account)
  const rows = await app.storage.execute(own.where('link_id', '=', of.id).orderBy('id'))
  const chosen = (some: typeof rows, at: number) => some[at % (some.length || 1)]
  const further = rows.filter(({ main }) => main === 0)
  const change = (alias: string | undefined, keep_address: boolean) =>
    send('PATCH', path, { json: { alias, keep_address } })
  switch (taken.do) {
    case 'undo':
      return void (await send('POST', `/events/${of.id}/undo`))
    case 'click': {
      const times = { atMs: Date.now() - taken.day * 86_400_000, seenMs: Date.now() + 1_000 }
      const unknown = { facts: null, visitorUnder: null, class: taken.isPerson ? 'person' : 'bot' } as const
      const addressId = chosen(rows, taken.address)?.id ?? null
      return void (await clicks.write(++batch, [{ link: of.id, addressId, count: taken.count, ...times, ...unknown }]))
    }
    case 'add':
      return void (await send('POST', `${path}/addresses`, { json: {} }))
    case 'drop':
      return void (await send('DELETE', `${path}/addresses/${chosen(further, taken.address)?.id}`))
    case 'rename':
      return void (await change(fresh('renamed'), taken.keeps))
    case 'promote':
      return void (await change(chosen(further, taken.address)?.alias, taken.keeps))
    case 'forget':
      return void (await send('DELETE', `${path}/clicks`))
    case 'delete':
      return void (await send('DELETE', path))
  }
}

test('clicks by short URL add up to the link’s clicks, and further addresses have theirs, after any changes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      const place = await newPlace(app)
      await place.link()
      await place.link()
      for (const each of steps) {
        await apply(place, each)
        for (const { id, clicks, short_url } of (await place.send('GET', '/links')).body.data) {
          const range = `link_id=${id}&from=${dayText(toUtcDay(Date.now()) - 25)}&per_page=100`
          const { data, meta } = (await place.send('GET', `/stats?name=addresses&${range}`)).body
          const { meta: days } = (await place.send('GET', `/stats?name=clicks&${range.replace('&per_page=100', '')}`))
            .body
          const sum = data.reduce((sum: number, each: Json) => sum + each.clicks, 0)
          assert.deepEqual([sum, meta.clicks, days.clicks], [clicks, clicks, clicks], JSON.stringify(each))
          const shown = new Map(data.map((each: Json) => [each.value, each.clicks]))
          const further: Json[] = (await place.send('GET', `/links/${id}/addresses?per_page=100`)).body.data
          const records = further.map((each) => [each.short_url, each.clicks])
          assert.deepEqual(
            records,
            further.map((each) => [each.short_url, shown.get(each.short_url) ?? 0]),
            JSON.stringify(each),
          )
          const known = new Set([short_url, ...further.map((each) => each.short_url)])
          assert.ok([...shown.keys()].every((url) => known.has(url)))
        }
      }
    }),
    { numRuns: runs(200, 15) },
  )
})
