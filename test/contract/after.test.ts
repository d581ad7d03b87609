/** Pages with `after`: no record is repeated or missed during concurrent writes. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { startApp } from '../app.ts'
import type { Json } from '../client.ts'

const app = await startApp()
const path = '/api/v1/spaces'

async function accountWith(count: number): Promise<string> {
  const key = await app.createKey({ account: await app.createAccount() })
  await Promise.all(
    Array.from({ length: count }, (_, n) => app.send('POST', path, { form: { name: `Space ${n}` }, key })),
  )
  return key
}

describe('after', () => {
  test('200 with the records that follow, links.next, and no page numbers', async () => {
    const key = await accountWith(25)
    const all = (await app.send('GET', `${path}?per_page=100&sort=asc`, { key })).body.data.map(({ id }: Json) => id)
    const first = await app.send('GET', `${path}?sort=asc&after=${all[0]}`, { key })
    const { data, links, meta } = first.body
    const url = app.origin + path
    assert.deepEqual(
      data.map(({ id }: Json) => id),
      all.slice(1, 11),
    )
    assert.deepEqual(links, {
      first: `${url}?sort=asc`,
      last: null,
      prev: null,
      next: `${url}?sort=asc&after=${all[10]}`,
    })
    assert.deepEqual(meta, {
      ...{ current_page: null, from: null, last_page: null, path: url, per_page: 10, to: null },
      ...{ total: 25, total_is_exact: true },
    })
    assert.equal(first.headers.link, `<${links.first}>; rel="first", <${links.next}>; rel="next"`)
    const last = await app.send('GET', `${path}?sort=asc&after=${all[14]}`, { key })
    assert.deepEqual([last.body.data.length, last.body.links.next], [10, null])
    const end = await app.send('GET', `${path}?sort=asc&after=${all[24]}`, { key })
    assert.deepEqual([end.status, end.body.data, end.body.links.next], [200, [], null])
  })

  test('repeats and misses no record if records are stored and deleted between pages', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('asc', 'desc'),
        fc.array(fc.boolean(), { maxLength: 6 }),
        async (sort, stores) => {
          const key = await accountWith(35)
          const before: Json[] = (await app.send('GET', `${path}?per_page=100&sort=${sort}`, { key })).body.data
          const kept = new Set(before.filter((_, n) => n % 7 !== 0).map(({ id }) => id))
          const doomed = before.filter(({ id }) => !kept.has(id)).map(({ id }) => id)
          const seen: number[] = []
          let url: string | null = `${path}?sort=${sort}&page=1`
          while (url !== null) {
            const { body } = await app.send('GET', url, { key })
            seen.push(...body.data.map(({ id }: Json) => id))
            url = body.data.length === 10 ? `${path}?sort=${sort}&after=${seen.at(-1)}` : null
            if (stores.pop()) await app.send('POST', path, { form: { name: 'Another' }, key })
            const id = doomed.pop()
            if (id !== undefined) await app.send('DELETE', `${path}/${id}`, { key })
          }
          assert.equal(new Set(seen).size, seen.length)
          assert.deepEqual(
            seen.filter((id) => kept.has(id)),
            before.map(({ id }) => id).filter((id) => kept.has(id)),
          )
        },
      ),
      { numRuns: 5 },
    )
  })

  test('422 together with page or another order, and for an invalid id', async () => {
    for (const query of [
      'after=1&page=1',
      'after=1&sort_by=name',
      'after=0',
      'after=01',
      'after=x',
      'after=1&after=2',
      'after=-1',
    ]) {
      const { status, body } = await app.send('GET', `${path}?${query}`)
      assert.deepEqual([status, body.violations[0].field], [422, 'after'], query)
    }
    const both = await app.send('GET', `${path}?after=1&page=2&sort_by=name`)
    assert.equal(both.body.violations.length, 2)
    assert.equal((await app.send('GET', `${path}?after=&page=2`)).status, 200)
  })
})
