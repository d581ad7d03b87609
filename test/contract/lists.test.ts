/** Parameters, order, pages and links of lists. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp, type TestApp } from '../app.ts'
import type { Answer, Json } from '../client.ts'
import { assertRefused } from '../links-api.ts'

const app = await startApp()

/** Creates an account with these records, in this order. Returns its key. */
async function accountWith(resource: string, names: readonly string[]) {
  const key = await app.createKey({ account: await app.createAccount() })
  for (const name of names) {
    assert.equal((await app.send('POST', `/api/v1/${resource}`, { form: { name }, key })).status, 201)
  }
  return key
}

/** The addresses of the `Link` header, by relation. */
function relations({ headers }: Answer): Record<string, string> {
  const links = String(headers.link).matchAll(/<([^>]+)>; rel="(\w+)"/g)
  return Object.fromEntries([...links].map(([, url, rel]) => [rel, url]))
}

function pathOf(url: string, { origin }: TestApp): string {
  assert.ok(url.startsWith(`${origin}/`), `${url} is not absolute`)
  return url.slice(origin.length)
}

/** Lists of 27 records and of none. All are stored before the first test. */
const stored: { resource: string; path: string; names: readonly string[]; key: string; emptyKey: string }[] = []
for (const resource of ['domains', 'spaces']) {
  const suffix = resource === 'domains' ? '.example' : ''
  const names = Array.from({ length: 27 }, (_, n) => `${resource}-${String((n * 7) % 27).padStart(2, '0')}${suffix}`)
  const [key, emptyKey] = [await accountWith(resource, names), await accountWith(resource, [])]
  stored.push({ resource, path: `/api/v1/${resource}`, names, key, emptyKey })
}

for (const { resource, path, names, key, emptyKey } of stored) {
  const list = (query = '', of = key) => app.send('GET', path + query, { key: of })
  const namesOf = ({ body }: Answer): string[] => body.data.map(({ name }: Json) => name)

  describe(`GET /${resource}`, () => {
    test('200 with an empty list', async () => {
      const { status, body } = await list('', emptyKey)
      assert.equal(status, 200)
      const url = app.origin + path
      assert.deepEqual(body, {
        data: [],
        links: { first: `${url}?page=1`, last: `${url}?page=1`, prev: null, next: null },
        meta: {
          ...{ current_page: 1, from: null, last_page: 1, path: url, per_page: 10, to: null, total: 0 },
          total_is_exact: true,
        },
      })
    })

    test('200 with the defaults: newest first, ten to a page, the first page', async () => {
      const answer = await list()
      assert.deepEqual(namesOf(answer), names.slice(-10).reverse())
      const { body } = await list('?search=&search_by=name&sort_by=id&sort=desc&per_page=10&page=1')
      assert.deepEqual(body.data, answer.body.data)
      assert.deepEqual(body.meta, answer.body.meta)
    })

    test('200 with the defaults for empty and blank parameters', async () => {
      const { body } = await list('?search=&search_by=&sort_by=&sort=&per_page=&page=')
      assert.deepEqual(body.meta, (await list()).body.meta)
      assert.deepEqual((await list('?search=+&sort=%20&per_page=%09&page=+')).body.meta, body.meta)
    })

    test('200 in each order', async () => {
      const sorted = names.toSorted()
      assert.deepEqual(namesOf(await list('?per_page=100&sort=asc')), names)
      assert.deepEqual(namesOf(await list('?per_page=100&sort=desc')), names.toReversed())
      assert.deepEqual(namesOf(await list('?per_page=100&sort_by=name')), sorted.toReversed())
      assert.deepEqual(namesOf(await list('?per_page=100&sort_by=name&sort=asc')), sorted)
      assert.deepEqual(namesOf(await list('?per_page=100&sort_by=id&sort=asc')), names)
    })

    for (const [start, next] of [
      ['first', 'next'],
      ['last', 'prev'],
    ] as const) {
      test(`200 for each page along the links from the ${start} one`, async () => {
        const seen: Json[] = []
        let pages = 0
        let url: string | null = (await list('?sort_by=name&sort=asc&search=-')).body.links[start]
        while (url !== null) {
          const answer = await app.send('GET', pathOf(url, app), { key })
          const { body } = answer
          const records = body.data.map(({ name }: Json) => name)
          if (next === 'next') seen.push(...records)
          else seen.unshift(...records)
          assert.deepEqual(
            relations(answer),
            Object.fromEntries(Object.entries(body.links).filter(([, to]) => to !== null)),
          )
          assert.equal(body.meta.from, (body.meta.current_page - 1) * 10 + 1)
          assert.equal(body.meta.to, body.meta.from + records.length - 1)
          assert.equal(body.meta.total, 27)
          assert.equal(body.meta.path, app.origin + path)
          pages += 1
          url = body.links[next]
        }
        assert.equal(pages, 3)
        assert.deepEqual(seen, names.toSorted())
      })
    }

    test('200 with links that keep only the given parameters', async () => {
      const { body, headers } = await list('?sort=asc&search=-%26%3D%25%2B%20%C3%A9%23&page=1')
      const url = `${app.origin}${path}?sort=asc&search=-%26%3D%25%2B%20%C3%A9%23&page=1`
      assert.deepEqual(body.links, { first: url, last: url, prev: null, next: null })
      assert.equal(headers.link, `<${url}>; rel="first", <${url}>; rel="last"`)
    })

    test('200 without records on a page past the end', async () => {
      for (const page of [4, 1000, Number.MAX_SAFE_INTEGER]) {
        const { status, body } = await list(`?page=${page}`)
        assert.equal(status, 200)
        assert.deepEqual(body.data, [])
        const { current_page, from, to, total, last_page } = body.meta
        assert.deepEqual(
          { current_page, from, to, total, last_page },
          { current_page: page, from: null, to: null, total: 27, last_page: 3 },
        )
        assert.equal(body.links.next, null)
        assert.equal(body.links.prev, `${app.origin}${path}?page=3`)
      }
      assert.equal((await list(`?page=${Number.MAX_SAFE_INTEGER}&per_page=100&search=domains`)).status, 200)
      assert.equal((await list(`?page=${Number.MAX_SAFE_INTEGER}&sort_by=name`)).status, 200)
    })
  })
}

describe('invalid parameters', () => {
  const list = (query: string) => app.send('GET', `/api/v1/domains${query}`)
  const refused: Readonly<Record<string, readonly string[]>> = {
    per_page: ['0', '1', '11', '101', '-10', '10.0', '1e1', '010', '+10', '0xA', 'ten', '10,25', '9'.repeat(400)],
    page: ['0', '-1', '01', '1.0', '1e0', '+1', '0x1', 'one', '9007199254740992', '9'.repeat(400)],
    sort: ['ASC', 'Desc', 'ascending', '1', 'asc,desc'],
    sort_by: ['Name', 'color', 'created_at', 'id,name', 'name_unicode', 'id;'],
    search_by: ['Name', 'id', 'homepage_url', 'color'],
    after: ['0', '01', 'x', '-1'],
  }
  const good: Json = { per_page: '10', page: '1', sort: 'asc', sort_by: 'id', search_by: 'name', after: '1' }
  for (const [parameter, values] of Object.entries(refused)) {
    test(`422 for a value of ${parameter} that is not allowed, sent twice, or an array`, async () => {
      for (const value of values) {
        const answer = await list(`?${parameter}=${encodeURIComponent(value)}`)
        assertRefused(answer, [
          parameter,
          /page$|after/.test(parameter) && parameter !== 'per_page' ? 'out_of_range' : 'not_allowed',
        ])
        assert.deepEqual(Object.keys(answer.body.errors), [parameter])
      }
      const once = `${parameter}=${good[parameter]}`
      for (const query of [`${once}&${once}`, once.replace('=', '[]='), once.replace('=', '[0]=')])
        assertRefused(await list(`?${query}`), [parameter, 'not_single'])
    })
  }

  test('422 unknown_field for an unknown parameter, with a suggestion', async () => {
    assert.match((await list('?perpage=10')).body.message, /Did you mean per_page\?/)
    assert.match((await list('?Search=a')).body.message, /Did you mean search\?/)
    const unknown = (['limit', 'key', '__proto__'] as const).map((name) => [name, 'unknown_field'] as const)
    assertRefused(await list('?limit=10&key=1&__proto__=1'), ...unknown)
    assertRefused(await list('?api_key=wm_x'), ['api_key', 'unknown_field'])
  })

  test('422 for all invalid parameters together', async () => {
    assertRefused(
      await list('?per_page=11&zzz=1&page=0&sort=up&sort_by=x&search_by=y'),
      ['search_by', 'not_allowed'],
      ['sort_by', 'not_allowed'],
      ['sort', 'not_allowed'],
      ['per_page', 'not_allowed'],
      ['page', 'out_of_range'],
      ['zzz', 'unknown_field'],
    )
  })

  test('200 for a search of 255 code points, 422 for a longer search or control characters', async () => {
    for (const letter of ['a', '💩']) {
      assert.equal((await list(`?search=${encodeURIComponent(letter.repeat(255))}`)).status, 200)
      assertRefused(await list(`?search=${encodeURIComponent(letter.repeat(256))}`), ['search', 'too_long'])
    }
    for (const search of ['a%00b', 'a%0Ab'])
      assertRefused(await list(`?search=${search}`), ['search', 'control_characters'])
  })

  test('422 for after together with page or another order', async () => {
    for (const query of ['?after=1&page=1', '?after=1&sort_by=name'])
      assert.deepEqual(Object.keys((await list(query)).body.errors), ['after'])
    assert.equal((await list('?after=1&page=2&sort_by=name')).body.violations.length, 2)
    assert.equal((await list('?after=&page=2')).status, 200)
  })
})

describe('after', () => {
  const path = '/api/v1/spaces'
  const names = Array.from({ length: 25 }, (_, n) => `Space ${n}`)

  test('200 with the records that follow, links.next, and no page numbers', async () => {
    const key = await accountWith('spaces', names)
    const all = (await app.send('GET', `${path}?per_page=100&sort=asc`, { key })).body.data.map(({ id }: Json) => id)
    const first = await app.send('GET', `${path}?sort=asc&after=${all[0]}`, { key })
    const { data, links, meta } = first.body
    const url = app.origin + path
    assert.deepEqual(
      data.map(({ id }: Json) => id),
      all.slice(1, 11),
    )
    const next = `${url}?sort=asc&after=${all[10]}`
    assert.deepEqual(links, { first: `${url}?sort=asc`, last: null, prev: null, next })
    assert.deepEqual(meta, {
      ...{ current_page: null, from: null, last_page: null, path: url, per_page: 10, to: null },
      ...{ total: 25, total_is_exact: true },
    })
    assert.deepEqual(relations(first), { first: links.first, next })
    const last = await app.send('GET', `${path}?sort=asc&after=${all[14]}`, { key })
    assert.deepEqual([last.body.data.length, last.body.links.next], [10, null])
    const end = await app.send('GET', `${path}?sort=asc&after=${all[24]}`, { key })
    assert.deepEqual([end.status, end.body.data, end.body.links.next], [200, [], null])
  })

  for (const sort of ['asc', 'desc']) {
    test(`repeats and misses no record if records are stored and deleted between pages, with sort=${sort}`, async () => {
      const key = await accountWith('spaces', names)
      const before: Json[] = (await app.send('GET', `${path}?per_page=100&sort=${sort}`, { key })).body.data
      const kept = before.map(({ id }) => id).filter((_, n) => n % 7 !== 0)
      const doomed = before.map(({ id }) => id).filter((_, n) => n % 7 === 0)
      const seen: number[] = []
      let url: string | null = `${path}?sort=${sort}&page=1`
      while (url !== null) {
        const { body } = await app.send('GET', url, { key })
        seen.push(...body.data.map(({ id }: Json) => id))
        url = body.data.length === 10 ? `${path}?sort=${sort}&after=${seen.at(-1)}` : null
        if (seen.length < 50) await app.send('POST', path, { form: { name: 'Another' }, key })
        for (const id of [doomed.shift(), doomed.pop()]) await app.send('DELETE', `${path}/${id}`, { key })
      }
      assert.equal(new Set(seen).size, seen.length)
      assert.deepEqual(
        seen.filter((id) => kept.includes(id)),
        kept,
      )
    })
  }
})
