/** Lists of links: filters, search, order, pages and totals. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Json } from '../../test/client.ts'
import { fillLinks } from '../../test/links.ts'
import { assertRefused, clickOn, fresh, newPlace, type Place } from '../../test/links-api.ts'

const app = await startApp()
const past = '2001-01-01 00:00'
const future = '2201-01-01 00:00'

/** Returns a function that lists aliases after their total. */
function lister(own: Place) {
  return async (query: Json): Promise<[number, ...string[]]> => {
    const { status, body, text } = await own.send('GET', `/links?${new URLSearchParams({ per_page: '100', ...query })}`)
    assert.equal(status, 200, text)
    assert.equal(body.meta.total_is_exact, true)
    return [body.meta.total, ...body.data.map(({ alias }: Json) => alias)]
  }
}

describe('the filters of GET /links', async () => {
  const own = await newPlace(app)
  const second = await own.stored('/domains', { name: `${fresh('second')}.example` })
  const [one, two] = [await own.stored('/spaces', { name: 'One' }), await own.stored('/spaces', { name: 'Two' })]
  await own.link({ alias: 'a1', space_id: one.id, url: 'https://shop.example/A' })
  const linked = await own.link({ alias: 'a2', space_id: two.id, active_period_start_at: future })
  await own.stored(`/links/${linked.id}/addresses`, { alias: 'further', domain_id: second.id })
  await own.link({ alias: 'a3', active_period_end_at: past, title: 'Shop' })
  await own.link({ alias: 'b1', space_id: one.id, domain_id: second.id, disabled: true })
  await own.link({ alias: 'b2', domain_id: second.id, title: 'The SHOP' })
  const strange = await newPlace(app)
  await strange.link({ alias: 'strange' })
  const list = lister(own)
  const cases: readonly (readonly [query: Json, found: readonly string[]])[] = [
    [{}, ['a1', 'a2', 'a3', 'b1', 'b2']],
    [{ domain_id: second.id }, ['b1', 'b2']],
    [{ space_id: one.id }, ['a1', 'b1']],
    [{ space_id: 0 }, ['a3', 'b2']],
    [{ status: 'active' }, ['a1', 'b2']],
    [{ status: 'scheduled' }, ['a2']],
    [{ status: 'expired' }, ['a3']],
    [{ status: 'disabled' }, ['b1']],
    [{ domain_id: own.domain.id, space_id: one.id, status: 'active' }, ['a1']],
    [{ domain_id: second.id, space_id: 0, status: 'disabled' }, []],
    [{ domain_id: strange.domain.id }, []],
    [{ domain_id: 999_999 }, []],
    [{ space_id: 999_999 }, []],
    [{ domain_id: '', space_id: ' ', status: '' }, ['a1', 'a2', 'a3', 'b1', 'b2']],
    [{ search: 'shop' }, ['a1', 'a3', 'b2']],
    [{ search: 'shop', space_id: 0, domain_id: second.id }, ['b2']],
    [{ search: 'SHOP', search_by: 'title', status: 'expired' }, ['a3']],
    [{ search: 'shop', search_by: 'url', space_id: one.id }, ['a1']],
    [{ search: 'b', search_by: 'alias', status: 'disabled' }, ['b1']],
    [{ alias: 'A1' }, ['a1']],
    [{ alias: 'a' }, []],
    [{ alias: 'a1', status: 'disabled' }, []],
    [{ alias: 'further' }, ['a2']],
    [{ alias: 'further', domain_id: second.id }, ['a2']],
    [{ alias: 'further', domain_id: own.domain.id }, []],
    [{ alias: `https://${second.name}/b1+` }, ['b1']],
    [{ alias: 'strange' }, []],
  ]
  for (const [query, found] of cases) {
    test(`200 with ${found.join(' ') || 'nothing'} for ${Object.keys(query).join(', ')}`, async () => {
      for (const sort_by of ['id', 'alias', 'clicks']) {
        assert.deepEqual(await list({ ...query, sort_by, sort: 'asc' }), [found.length, ...found])
        assert.deepEqual(await list({ ...query, sort_by }), [found.length, ...found.toReversed()])
      }
    })
  }

  test('200 with a link only in the filter of its current space', async () => {
    const moving = await newPlace(app)
    const [from, to] = [
      await moving.stored('/spaces', { name: 'From' }),
      await moving.stored('/spaces', { name: 'To' }),
    ]
    const { id } = await moving.link({ alias: 'm', space_id: from.id })
    const where = async () => {
      const found: Json[] = []
      for (const space_id of [from.id, to.id, 0]) found.push((await lister(moving)({ space_id }))[0])
      return found
    }
    assert.deepEqual(await where(), [1, 0, 0])
    await moving.send('PATCH', `/links/${id}`, { form: { space_id: to.id } })
    assert.deepEqual(await where(), [0, 1, 0])
    await moving.send('PATCH', `/links/${id}`, { form: { space_id: '' } })
    assert.deepEqual(await where(), [0, 0, 1])
  })

  const bad: readonly (readonly [query: string, field: string, code: string])[] = [
    ['domain_id=0', 'domain_id', 'out_of_range'],
    ['domain_id=x', 'domain_id', 'out_of_range'],
    ['domain_id=1&domain_id=2', 'domain_id', 'not_single'],
    ['space_id=-1', 'space_id', 'out_of_range'],
    ['space_id=00', 'space_id', 'out_of_range'],
    ['status=paused', 'status', 'not_allowed'],
    ['status=ACTIVE', 'status', 'not_allowed'],
    ['sort_by=name', 'sort_by', 'not_allowed'],
    ['sort_by=url', 'sort_by', 'not_allowed'],
    ['after=1&sort_by=clicks', 'after', 'not_allowed'],
  ]
  test('422 for invalid filters and orders', async () => {
    for (const [query, field, code] of bad) assertRefused(await own.send('GET', `/links?${query}`), [field, code])
  })
})

describe('the search of GET /links', async () => {
  const own = await newPlace(app)
  await own.link({ alias: 'Straße', title: '100% Rabatt', url: 'https://acme.com/Under_Score' })
  await own.link({ alias: 'ODOS', title: 'Ὀδυσσεύς', url: 'https://acme.com/a\u0308b' })
  await own.link({ alias: 'emoji-💩', title: null, url: 'https://ACME.com/back?q=%C3%A9' })
  const list = lister(own)
  const cases: readonly (readonly [search: string, by: Json, found: readonly string[]])[] = [
    ['STRASSE', {}, ['Straße']],
    ['strasse', { search_by: 'alias' }, ['Straße']],
    ['strasse', { search_by: 'title' }, []],
    ['0% r', {}, ['Straße']],
    ['%', { search_by: 'title' }, ['Straße']],
    ['_', {}, ['Straße']],
    ['UNDER_', { search_by: 'url' }, ['Straße']],
    ['ΟΔΥΣΣΕΎΣ'.slice(2), {}, ['ODOS']],
    ['Äb', {}, ['ODOS']],
    ['💩', {}, ['emoji-💩']],
    ['ACME.COM', {}, ['Straße', 'ODOS', 'emoji-💩']],
    ['acme', { search_by: 'alias' }, []],
    ['%c3%A9', {}, ['emoji-💩']],
    ['nothing', {}, []],
    ['rabatt 100% stra', {}, ['Straße']],
    ['rabatt under_', { search_by: 'title' }, []],
    ['acme.com é o', {}, ['emoji-💩']],
    ['acme.com é q=%C3%89 o z', {}, []],
    ['back?q=É', { search_by: 'url' }, ['emoji-💩']],
    ['acme.com/%C3%A4b', {}, ['ODOS']],
    ['é', { search_by: 'alias' }, []],
    ['0%  sTRASSE score', {}, ['Straße']],
  ]
  for (const [search, by, found] of cases) {
    test(`200 with ${found.join(' ') || 'nothing'} for ${search} in ${by.search_by ?? 'any'}`, async () => {
      assert.deepEqual(await list({ search, ...by, sort: 'asc' }), [found.length, ...found])
    })
  }

  test('200 with exactly the link whose short URL is pasted', async () => {
    const pasting = await newPlace(app)
    const { name } = pasting.domain
    const summer = await pasting.link({ alias: 'Summer/Été', url: 'https://acme.com/1', tags: ['Hot'] })
    const [hot, cold] = [
      (await pasting.send('GET', '/tags')).body.data[0].id,
      (await pasting.stored('/tags', { name: 'Cold' })).id,
    ]
    await pasting.link({ alias: 'Summer/Été-2', url: `https://${name}/summer/été` })
    const own = lister(pasting)
    for (const scheme of ['', 'http://', 'HTTPS://']) {
      for (const end of ['', '/', '+', '/?utm_source=x#top']) {
        for (const path of ['summer/été', 'SUMMER/%C3%89t%C3%A9']) {
          assert.deepEqual(await own({ search: `${scheme}${name.toUpperCase()}:8080/${path}${end}` }), [
            1,
            summer.alias,
          ])
        }
      }
    }
    await pasting.link({ alias: 'Summer.', url: 'https://acme.com/2' })
    const path = 'summer//été'
    const noisy = [`<https://${name}/${path}>`, `("${name}/${path}").`, `//${name}//${path}//`, `${name}/${path}%20+`]
    for (const search of noisy) assert.deepEqual(await own({ search }), [1, summer.alias], search)
    assert.deepEqual(await own({ search: `${name}/summer.` }), [1, 'Summer.'], 'an exact match wins')
    assert.deepEqual(await own({ search: `${name}/Summer..` }), [0])
    const search = `${name}/summer/été`
    assert.deepEqual(await own({ search, status: 'active', domain_id: pasting.domain.id }), [1, summer.alias])
    assert.deepEqual(await own({ search, tag_id: hot, archived: 'any' }), [1, summer.alias])
    for (const other of [{ status: 'expired' }, { tag_id: `${hot},${cold}` }, { archived: 'true' }, { space_id: 999 }])
      assert.deepEqual(await own({ search, ...other }), [0])
    assert.deepEqual(await own({ search, page: 2 }), [1])
    assert.deepEqual(await own({ search, after: summer.id }), [1])
    assert.deepEqual(await own({ search, search_by: 'url' }), [1, 'Summer/Été-2'])
    assert.deepEqual(await own({ search: `${name}/summer` }), [1, 'Summer/Été-2'])
    assert.deepEqual(await lister(await newPlace(app))({ search }), [0])
  })

  test('200 with a link only for its current texts', async () => {
    const moving = await newPlace(app)
    const { id } = await moving.link({ alias: 'vintage', title: 'Ältlich', url: 'https://old.example' })
    const found = async (search: string) => (await lister(moving)({ search }))[0]
    assert.deepEqual(await Promise.all(['VINT', 'ÄLT', 'old.'].map(found)), [1, 1, 1])
    await moving.send('PATCH', `/links/${id}`, { json: { alias: 'modern', title: 'neu', url: 'https://new.example' } })
    assert.deepEqual(await Promise.all(['vint', 'ält', 'old.', 'MOD', 'NEU', 'new.'].map(found)), [0, 0, 0, 1, 1, 1])
    await moving.send('PATCH', `/links/${id}`, { json: { title: null } })
    assert.equal(await found('neu'), 0)
    await moving.send('DELETE', `/links/${id}`)
    assert.equal(await found('modern'), 0)
  })
})

test('200 by clicks, ties by id in the same direction, or by the case-folded alias, by code point', async () => {
  const own = await newPlace(app)
  const list = lister(own)
  const ids: number[] = []
  for (const [alias, clicks] of [
    ['Éa', 3],
    ['b', 0],
    ['A', 3],
    ['ß', 7],
  ] as const) {
    const { id } = await own.link({ alias })
    ids.push(id)
    await clickOn(app.storage, id, clicks, past)
  }
  assert.deepEqual(await list({ sort_by: 'clicks' }), [4, 'ß', 'A', 'Éa', 'b'])
  assert.deepEqual(await list({ sort_by: 'clicks', sort: 'asc' }), [4, 'b', 'Éa', 'A', 'ß'])
  assert.deepEqual(await list({ sort_by: 'alias', sort: 'asc' }), [4, 'A', 'b', 'ß', 'Éa'])
  await clickOn(app.storage, ids[1] ?? 0, 100, past)
  assert.deepEqual(await list({ sort_by: 'clicks' }), [4, 'b', 'ß', 'A', 'Éa'])
})

test('200 with every link once for a filter with after during other writes', async () => {
  const own = await newPlace(app)
  const space = await own.stored('/spaces', { name: 'All' })
  const stored = await Promise.all(Array.from({ length: 35 }, () => own.link({ space_id: space.id })))
  const wanted = stored.map(({ id }) => id).sort((a, b) => a - b)
  const seen: number[] = []
  let path = `/links?sort=asc&space_id=${space.id}&search=acme&after=1`
  for (let next: string | null = path; next !== null; ) {
    path = next.replace(/^.*\/api\/v1/, '')
    const { body } = await own.send('GET', path)
    seen.push(...body.data.map(({ id }: Json) => id))
    assert.equal(body.meta.total, 35)
    await own.link({ alias: fresh('elsewhere') })
    next = body.links.next
  }
  assert.deepEqual(seen, wanted)
})

test('200 with exact totals without search and filter, and up to 10 000 with either', async () => {
  const own = await newPlace(app)
  const count = 10_001
  const { account, domain } = own
  // Small statements end before the timeout of PostgreSQL on a busy machine, too.
  for (let first = 1; first <= count; first += 2_000) {
    const some = Math.min(2_000, count - first + 1)
    await fillLinks(app.storage, { account, domain: domain.id }, first, some)
  }
  const totals = async (query: string) => {
    const { meta, links } = (await own.send('GET', `/links?${query}`)).body
    return [meta.total, meta.total_is_exact, links.next !== null]
  }
  assert.deepEqual(await totals(''), [count, true, true])
  assert.deepEqual(await totals('status=active'), [10_000, false, true])
  assert.deepEqual(await totals(`domain_id=${domain.id}`), [10_000, false, true])
  assert.deepEqual(await totals('search=acme'), [10_000, false, true])
  assert.deepEqual(await totals('search=l10001&search_by=alias'), [1, true, false])
  await own.send('DELETE', `/links/${(await own.send('GET', '/links')).body.data[0].id}`)
  assert.deepEqual(await totals('status=active&space_id=0'), [10_000, true, true])
  assert.deepEqual(await totals('page=1000&status=active&per_page=10'), [10_000, true, false])
})
