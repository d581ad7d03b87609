import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../test/app.ts'
import { addClicks, dayOf, dayWith, manyPeople, storeDay, storeDays, type TestClick } from '../../../test/days.ts'
import { fillLinks } from '../../../test/links.ts'
import { newPlace } from '../../../test/links-api.ts'
import { parts } from '../../storage/port.ts'
import { query } from '../../storage/schema.ts'
import { dimensions, emptyDay, ensureHour, maxValues } from '../day.ts'
import { readDailyClicks } from '../recent-clicks.ts'
import { findGroupNames, linksOfReferrer, rankGroups, readClicks } from './store.ts'

const app = await startApp()
const db = app.storage
const person: TestClick = { hour: 9, kind: 'people' }
const last = dayOf('2026-11-22')
const range = { from: last - 29, to: last }
const none = Array.from({ length: 30 }, () => 0)

test('returns the human clicks of each link and day, including zeros', async () => {
  const { account, link } = await newPlace(app)
  const [busy, quiet] = [(await link()).id, (await link()).id]
  await addClicks(db, busy, last, dayWith([person, { ...person, hour: 23 }, { hour: 1, kind: 'bots' }]))
  await addClicks(db, busy, last - 20, dayWith([{ hour: 3, kind: 'previews' }]))
  await addClicks(db, busy, range.from, dayWith([person]))
  for (const outside of [range.from - 1, last + 1]) await addClicks(db, busy, outside, dayWith([person]))
  assert.deepEqual(
    await readDailyClicks(db, account, [busy, quiet], range),
    new Map([
      [busy, [1, ...none.slice(2), 2]],
      [quiet, none],
    ]),
  )
})

test('returns zeros for unknown links and links of other accounts', async () => {
  const [own, other] = [await newPlace(app), await newPlace(app)]
  const theirs = (await other.link()).id
  await addClicks(db, theirs, last, dayWith([person]))
  const unknown = 9_999_999
  assert.deepEqual(
    await readDailyClicks(db, own.account, [theirs, unknown], range),
    new Map([
      [theirs, none],
      [unknown, none],
    ]),
  )
})

test('accepts no links, many links and any range', async () => {
  const { account, link } = await newPlace(app)
  const ids: number[] = []
  for (let n = 0; n < 60; n++) {
    const { id } = await link()
    ids.push(id)
    await storeDay(db, 0, last - (n % 30), id, manyPeople(n + 1, 'countries', 'DE'))
  }
  const clicks = await readDailyClicks(db, account, ids, range)
  for (const [n, id] of ids.entries()) assert.deepEqual(clicks.get(id), none.with(29 - (n % 30), n + 1))
  assert.deepEqual((await readDailyClicks(db, account, ids, { from: last, to: last })).get(ids[0] as number), [1])
  assert.equal((await readDailyClicks(db, account, [], range)).size, 0)
})

test('adds up the clicks on each domain and space within a range, and ignores other accounts', async () => {
  const [own, other] = [await newPlace(app), await newPlace(app)]
  const spaces = [await own.stored('/spaces', { name: 'Print' }), await own.stored('/spaces', { name: 'Idle' })]
  const id = spaces[0].id as number
  for (const link of [await own.link({ space_id: id }), await own.link(), await other.link()]) {
    for (const day of [range.from - 1, range.from, last, last + 1]) await addClicks(db, link.id, day, dayWith([person]))
    await addClicks(db, link.id, last, dayWith([{ hour: 1, kind: 'bots' }]))
  }
  const ranked = async (level: 'domain' | 'space') => {
    const { ranking, isWhole } = await rankGroups(db, own.account, level, range)
    assert.equal(isWhole, true)
    return ranking.page({ sortBy: 'clicks', direction: 'desc', offset: 0, limit: 9 })
  }
  assert.deepEqual(await ranked('space'), [{ value: id, clicks: 2 }])
  assert.deepEqual(await ranked('domain'), [{ value: own.domain.id, clicks: 4 }])
  assert.deepEqual([...(await findGroupNames(db, own.account, 'space', [id]))], [[id, { name: 'Print', color: 1 }]])
  const both = [own.domain.id, other.domain.id]
  assert.deepEqual(
    [...(await findGroupNames(db, own.account, 'domain', both))],
    [[own.domain.id, { name: own.domain.name, color: null }]],
  )
})

test('returns the links with clicks from a referrer, without links of other accounts', async () => {
  const [own, other] = [await newPlace(app), await newPlace(app)]
  const links = [(await own.link()).id, (await own.link()).id, (await own.link()).id, (await other.link()).id]
  for (const [n, id] of links.entries()) {
    await addClicks(db, id, last, manyPeople(n + 1, 'referrers', n === 2 ? null : 'news.example'))
    await addClicks(db, id, range.from, manyPeople(10, 'referrers', 'news.example.org'))
    await addClicks(db, id, range.from - 1, manyPeople(100, 'referrers', 'news.example'))
  }
  await addClicks(db, links[0], last - 1, manyPeople(5, 'referrers', 'news.example'))
  await addClicks(db, links[1], last, manyPeople(4, 'referrers', '[::1]'))
  const named = (host: string | null, of = links) => linksOfReferrer(db, own.account, of, range, host)
  assert.deepEqual(await named('news.example'), [
    { value: links[0], clicks: 6 },
    { value: links[1], clicks: 2 },
  ])
  assert.deepEqual(await named('news.example', links.slice(1, 2)), [{ value: links[1], clicks: 2 }])
  assert.deepEqual(await named(null), [{ value: links[2], clicks: 3 }])
  assert.deepEqual(await named('[::1]'), [{ value: links[1], clicks: 4 }])
  for (const host of ['news', '7', 'a_b-c', '-x.example', '.']) assert.deepEqual(await named(host), [], host)
  assert.deepEqual(await named('news.example', []), [])
})

test('reads the largest possible day', async () => {
  const { account, link } = await newPlace(app)
  const { id } = await link()
  const facts = emptyDay()
  const most = 2 ** 48
  for (let hour = 0; hour < 24; hour++) {
    Object.assign(ensureHour(facts, hour), { people: most, unique: most - 1, bots: 2 ** 52, previews: 2 ** 52 })
  }
  for (const dimension of dimensions.filter((each) => each !== 'links')) {
    for (let n = 0; n < maxValues; n++) facts.breakdowns[dimension].set(`value-${n}.example.com`, most)
  }
  await storeDay(db, 0, last, id, facts)
  assert.deepEqual(await readDailyClicks(db, account, [id], range), new Map([[id, none.with(29, 24 * most)]]))
})

test('adds up the days of tags with any number of links, and much JSON', async () => {
  const { account, domain, stored } = await newPlace(app)
  const { id: tag } = await stored('/tags', { name: 'large' })
  const size = 2_600
  for (let first = 1; first < size; first += 1_300) {
    await fillLinks(db, { account, domain: domain.id }, first, 1_300)
  }
  const links = query.selectFrom('links').where('account_id', '=', account)
  const ids = (await db.execute(links.select('id').orderBy('id'))).map(({ id }) => id)
  const facts = manyPeople(200, 'referrers', null)
  facts.breakdowns.referrers.clear()
  for (let n = 0; n < 200; n++) facts.breakdowns.referrers.set(`a-long-name-of-a-host-${n}.example`, 1)
  for (const [tagged, days] of [
    [1_300, 30],
    [size, 2],
  ] as const) {
    for (const some of parts(ids.slice(tagged === size ? 1_300 : 0, tagged))) {
      const rows = some.map((link_id) => ({ account_id: account, tag_id: tag, link_id }))
      await db.execute(query.insertInto('link_tags').values(rows))
    }
    const stored = ids.slice(tagged - 100, tagged).map((id) => ({ level: 0, day: last, id, space: null, facts }))
    await storeDays(db, stored)
    const period = { from: last - days + 1, to: last }
    const { counts, rankings } = await readClicks(db, account, { level: 'tag', id: tag }, period, [
      'hours',
      'links',
      'referrers',
    ])
    const expected = tagged === size ? 200 : 100
    const people = counts.reduce((sum, [, , counts]) => sum + counts.people, 0)
    assert.equal(people, expected * 200)
    assert.deepEqual([rankings.links.size, rankings.links.total], [expected, people])
    assert.deepEqual([rankings.referrers.size, rankings.referrers.total], [200, people])
  }
})
