import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { startApp } from '../../test/app.ts'
import type { Json, Request } from '../../test/client.ts'
import { finishJobs } from '../../test/jobs.ts'
import { assertRefused } from '../../test/links-api.ts'
import { runs } from '../../test/runs.ts'
import { systemActor } from '../access/actor.ts'
import { recentClicksOfTags } from '../analytics/recent-clicks.ts'
import { query } from '../storage/schema.ts'
import { beginTagMerge, loggedTags } from './store.ts'

const app = await startApp()
const ask = (method: string, path: string, json?: object, request: Request = {}) =>
  app.send(method, `/api/v1${path}`, { ...(json && { json }), ...request })
const stored = async (path: string, json: object, request: Request = {}): Promise<Json> => {
  const { status, body, text } = await ask('POST', path, json, request)
  assert.equal(status, 201, text)
  return body.data
}
await stored('/domains', { name: 'go.acme.com' })
const url = 'https://acme.com'
const newTag = (name: string) => stored('/tags', { name })
const newLink = (tags: unknown, fields: object = {}) => stored('/links', { url, tags, ...fields })
const shown = async (path: string): Promise<Json> => (await ask('GET', path)).body.data
const idsIn = async (query: string) =>
  (await ask('GET', `/links?sort=asc&per_page=100&${query}`)).body.data.map(({ id }: Json) => id)
let domains = 0
const accountOf = async (tag: number): Promise<number> => {
  const [row] = await app.storage.execute(query.selectFrom('tags').select('account_id').where('id', '=', tag))
  return row?.account_id as number
}
/** A key of another account, which has a tag. */
const other = { key: await app.createKey({ account: await app.createAccount() }) }
const foreign = await stored('/tags', { name: 'Foreign' }, other)

describe('tags', () => {
  test('409 name_taken for a name in another case, on store and update; the own name may change its case', async () => {
    const tag = await newTag('Straße')
    const free = await newTag('Free')
    for (const answer of [
      await ask('POST', '/tags', { name: 'STRASSE' }),
      await ask('PATCH', `/tags/${free.id}`, { name: 'strasse' }),
    ]) {
      assert.equal(answer.status, 409)
      assert.equal(answer.body.code, 'name_taken')
    }
    assert.equal((await ask('PATCH', `/tags/${tag.id}`, { name: 'STRASSE' })).body.data.name, 'STRASSE')
    assert.equal((await ask('POST', '/tags', { name: 'Free' }, other)).status, 201)
  })

  test('201 for a name of 50 characters, 422 for a longer one', async () => {
    assert.equal((await newTag('😀'.repeat(50))).name, '😀'.repeat(50))
    assertRefused(await ask('POST', '/tags', { name: 'x'.repeat(51) }), ['name', 'too_long'])
  })

  test('counts links, even archived ones, in the ETag but not in updated_at; If-Match still holds', async () => {
    const { id, updated_at } = await newTag('Counted')
    const { headers } = await ask('GET', `/tags/${id}`)
    const link = await newLink(['counted'], { archived: true })
    const after = await ask('GET', `/tags/${id}`)
    assert.deepEqual([after.body.data.links, after.body.data.updated_at], [1, updated_at])
    assert.notEqual(after.headers.etag, headers.etag)
    const request = { headers: { 'if-match': String(headers.etag) } }
    assert.equal((await ask('PATCH', `/tags/${id}`, { color: 2 }, request)).status, 200)
    const stale = await ask('PATCH', `/tags/${id}`, { color: 3 }, request)
    assert.deepEqual([stale.status, stale.headers.etag], [412, (await ask('GET', `/tags/${id}`)).headers.etag])
    await ask('DELETE', `/links/${link.id}`)
    assert.equal((await shown(`/tags/${id}`)).links, 0)
  })

  test('a new name and a deletion change the ETag of links, but not updated_at', async () => {
    const tag = await newTag('Before')
    const link = await newLink(['Before', 'Stays'])
    const etagOf = async () => (await ask('GET', `/links/${link.id}`)).headers.etag
    const first = await etagOf()
    await ask('PATCH', `/tags/${tag.id}`, { name: 'Zafter' })
    assert.deepEqual((await shown(`/links/${link.id}`)).tags, ['Stays', 'Zafter'])
    const second = await etagOf()
    assert.equal((await ask('DELETE', `/tags/${tag.id}`)).status, 204)
    assert.deepEqual(await shown(`/links/${link.id}`), { ...link, tags: ['Stays'] })
    assert.equal(new Set([first, second, await etagOf()]).size, 3)
    const request = { headers: { 'if-match': String(first) } }
    assert.equal((await ask('PATCH', `/links/${link.id}`, { title: 'x' }, request)).status, 200)
    assert.equal((await newTag('Zafter')).links, 0)
  })
})

describe('POST /tags/{id}/merge', () => {
  test('200 with the remaining tag, which the links of both have', async () => {
    const [from, into] = [await newTag('From'), await newTag('Into')]
    const links = [await newLink('From'), await newLink('From, Into'), await newLink('Into')]
    const { status, body, headers } = await ask('POST', `/tags/${from.id}/merge`, { into: into.id })
    assert.deepEqual([status, body.data], [200, { ...into, links: 3 }])
    assert.equal(headers.etag, (await ask('GET', `/tags/${into.id}`)).headers.etag)
    assert.equal((await ask('GET', `/tags/${from.id}`)).status, 404)
    for (const link of links) assert.deepEqual(await shown(`/links/${link.id}`), { ...link, tags: ['Into'] })
    assert.deepEqual(
      await idsIn(`tag_id=${into.id}`),
      links.map(({ id }) => id),
    )
  })

  test('an interrupted merge or deletion is already visible, and is finished later', async () => {
    const [from, into, gone] = [await newTag('Before'), await newTag('After'), await newTag('Gone')]
    const [link, edited] = [await newLink('Before, Gone, Own'), await newLink('Before, Gone, Own')]
    const account = await accountOf(into.id)
    const actor = systemActor(account)
    assert.ok(await beginTagMerge(app.storage, actor, from.id, null, into.id))
    const how = { precondition: null, isPermanent: false }
    assert.ok(await app.storage.write((tx) => loggedTags.beginRemoval(tx, actor, gone.id, how)))
    const check = async () => {
      const { headers, body } = await ask('GET', `/links/${link.id}`)
      assert.deepEqual(body.data, { ...link, tags: ['After', 'Own'] })
      return headers.etag
    }
    const etag = await check()
    const same = await ask('PATCH', `/links/${edited.id}`, { tags: 'after, own' })
    assert.equal(same.body.data.updated_at, edited.updated_at)
    assert.deepEqual(await idsIn(`tag_id=${into.id}`), [link.id, edited.id])
    await app.storage.execute(query.updateTable('link_clicks').set({ clicks_30d: 3 }).where('link_id', '=', link.id))
    const tags = [{ account_id: account, link_id: link.id, tag_id: into.id }]
    await app.storage.execute(query.insertInto('link_tags').values(tags))
    assert.deepEqual([...(await recentClicksOfTags(app.storage, account, [into.id]))], [[into.id, 3]])
    assert.equal((await shown(`/tags/${into.id}`)).links, 2)
    assert.equal((await ask('GET', '/tags?search=after')).body.data[0].links, 2)
    for (const { id } of [from, gone]) assert.deepEqual(await idsIn(`tag_id=${id}`), [])
    const { id } = await newLink('gone')
    const [again] = (await ask('GET', '/tags?search=gone')).body.data
    assert.deepEqual(await idsIn(`tag_id=${again.id}`), [id])
    await finishJobs(app.storage)
    assert.equal(await check(), etag)
    assert.equal((await shown(`/tags/${into.id}`)).links, 2)
  })

  test('422 for the same tag, an unknown one, another account’s tag, and without into', async () => {
    const { id } = await newTag('Alone')
    for (const [into, code] of [
      [id, 'not_allowed'],
      [999_999, 'unknown_tag'],
      [foreign.id, 'unknown_tag'],
      [undefined, 'required'],
      ['x', 'out_of_range'],
    ] as const) {
      assertRefused(await ask('POST', `/tags/${id}/merge`, { into }), ['into', code])
    }
    assert.equal((await ask('POST', `/tags/${foreign.id}/merge`, { into: id })).status, 404)
    assert.equal(
      (await ask('POST', `/tags/${id}/merge`, { into: id + 1 }, { headers: { 'if-match': '"x"' } })).status,
      412,
    )
  })
})

test('recent clicks of tags are the sums of their links, whether few or all links were clicked', async () => {
  const [red, blue, none] = [await newTag('Red'), await newTag('Blue'), await newTag('Colorless')]
  const account = await accountOf(red.id)
  const links = [await newLink('Red, Blue'), await newLink('Red'), await newLink('Red, Blue')]
  await newLink('Blue')
  const expected = new Map<number, number>()
  for (const [at, { id, tags }] of links.entries()) {
    const clicked = query
      .updateTable('link_clicks')
      .set({ clicks_30d: 10 + at })
      .where('link_id', '=', id)
    await app.storage.execute(clicked)
    for (const tag of [red, blue]) {
      const before = expected.get(tag.id) ?? 0
      expected.set(tag.id, before + (tags.includes(tag.name) ? 10 + at : 0))
    }
    const sums = await recentClicksOfTags(app.storage, account, [red.id, blue.id, none.id])
    for (const tag of [red, blue, none]) assert.equal(sums.get(tag.id) ?? 0, expected.get(tag.id) ?? 0)
  }
})

describe('the tags, notes and archived fields of links', () => {
  test('tags are an array or text with commas, in JSON and forms, matched case-insensitively and sorted', async () => {
    const expected = ['alpha', 'Beta']
    assert.deepEqual((await newLink(['Beta', 'alpha', '', 'BETA', ' alpha '])).tags, expected)
    assert.deepEqual((await newLink('ALPHA,, beta')).tags, expected)
    const { body } = await app.send('POST', '/api/v1/links', { form: { url, tags: 'beta,Alpha' } })
    assert.deepEqual(body.data.tags, expected)
    const { id } = body.data
    for (const [tags, left] of [
      [['gamma'], ['gamma']],
      [[], []],
      ['beta', ['Beta']],
      ['', []],
      [null, []],
    ] as const) {
      assert.deepEqual((await ask('PATCH', `/links/${id}`, { tags })).body.data.tags, left)
    }
  })

  test('20 tags, one of them in another case; 422 for repeated fields of a form', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `tag ${index}`)
    assert.equal((await newLink([...names, 'TAG 1'])).tags.length, 20)
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const body = `url=${encodeURIComponent(url)}&tags[]=a&tags[]=b`
    const repeated = await app.send('POST', '/api/v1/links', { body, headers })
    assertRefused(repeated, ['tags', 'not_single'])
    assert.equal(repeated.body.message, 'The tags field must be sent once, with commas between its values.')
  })

  test('422 unknown_tag and nothing is stored if the key may not create the tag', async () => {
    const key = await app.createKey({ account: app.account, scopes: ['links:read', 'links:write'] })
    await newTag('Known')
    const total = async () => (await ask('GET', '/links?archived=any')).body.meta.total
    const before = await total()
    assertRefused(await ask('POST', '/links', { url, tags: ['known', 'Unknown'] }, { key }), ['tags', 'unknown_tag'])
    const { id } = await stored('/links', { url, tags: ['KNOWN'] }, { key })
    assertRefused(await ask('PATCH', `/links/${id}`, { title: 'x', tags: 'Unknown' }, { key }), ['tags', 'unknown_tag'])
    assert.deepEqual((await shown(`/links/${id}`)).tags, ['Known'])
    assert.equal(await total(), before + 1)
  })

  test('unknown_tag is in one response with the other invalid fields, even in each row of a bulk request', async () => {
    const key = await app.createKey({ account: app.account, scopes: ['links:read', 'links:write'] })
    const { id, alias } = await stored('/links', { url }, { key })
    const both = [
      ['tags', 'unknown_tag'],
      ['space_id', 'unknown_space'],
    ]
    const found = ({ violations }: Json) => violations.map(({ field, code }: Json) => [field, code])
    const fields = { url, tags: ['Unknown'], space_id: 999_999 }
    assert.deepEqual(found((await ask('POST', '/links', fields, { key })).body), both)
    assert.deepEqual(found((await ask('PATCH', `/links/${id}`, fields, { key })).body), both)
    const taken = { url, tags: ['Unknown'], alias }
    const rows = (await ask('POST', '/links/bulk', { links: [fields, taken] }, { key })).body.data
    assert.deepEqual(found(rows[0]), both)
    const { status, body } = await ask('POST', '/links', taken, { key })
    assert.deepEqual([status, found(body)], [rows[1].status, found(rows[1])])
  })

  test('an update changes the version only if the set of tags changes', async () => {
    const link = await newLink(['one', 'two'])
    const version = async (tags: unknown) => {
      const { headers, body } = await ask('PATCH', `/links/${link.id}`, { tags })
      return [headers.etag, body.data.updated_at]
    }
    const [etag] = [(await ask('GET', `/links/${link.id}`)).headers.etag]
    assert.deepEqual(await version('TWO, one'), [etag, link.updated_at])
    const [next, updated] = await version('two')
    assert.ok(next !== etag && updated > link.updated_at)
  })

  test('notes have lines; CR LF is stored as LF, and counts as one character', async () => {
    const { notes } = await newLink([], { notes: ' a\r\n\tb\n' })
    assert.equal(notes, 'a\n\tb')
    assert.equal((await newLink([], { notes: `${'😀\r\n'.repeat(999)}xy` })).notes.length, 999 * 3 + 2)
  })
})

interface RandomLink {
  readonly tags: string[]
  readonly archived: boolean
  readonly isChanged: boolean
  readonly isDeleted: boolean
}

/** Stores links of an account. Returns the remaining links. */
async function storeAll(account: Request, links: readonly RandomLink[]): Promise<Json[]> {
  const model: Json[] = []
  for (const { isChanged, isDeleted, ...fields } of links) {
    const { id } = await stored('/links', { url, ...(isChanged ? {} : fields) }, account)
    if (isChanged) await ask('PATCH', `/links/${id}`, fields, account)
    if (isDeleted) await ask('DELETE', `/links/${id}`, undefined, account)
    else model.push({ id, ...fields })
  }
  return model
}

describe('GET /links by tags and archived', () => {
  test('422 for invalid values', async () => {
    const ids = Array.from({ length: 21 }, (_, index) => index + 1)
    for (const [query, field, code] of [
      ['tag_id=0', 'tag_id', 'out_of_range'],
      ['tag_id=1,x', 'tag_id', 'out_of_range'],
      [`tag_id=${ids}`, 'tag_id', 'too_many'],
      ['archived=1', 'archived', 'not_allowed'],
    ] as const) {
      assertRefused(await ask('GET', `/links?${query}`), [field, code])
    }
  })

  test('no link for an unknown tag or the tag of another account', async () => {
    for (const id of [999_999, foreign.id, `1,${foreign.id}`]) assert.deepEqual(await idsIn(`tag_id=${id}`), [])
  })

  test('lists and totals equal a naive model after random changes', async () => {
    const names = ['ab', 'abc', 'Äb', 'x']
    const link = fc.record({
      tags: fc.uniqueArray(fc.constantFrom(...names)),
      archived: fc.boolean(),
      isChanged: fc.boolean(),
      isDeleted: fc.boolean(),
    })
    const query = fc.record({
      tags: fc.uniqueArray(fc.constantFrom(...names), { maxLength: 2 }),
      archived: fc.constantFrom('', 'false', 'true', 'any'),
      sort_by: fc.constantFrom('id', 'alias', 'clicks'),
      search: fc.constantFrom('', 'acme', 'nothing'),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(link, { maxLength: 12 }), fc.array(query, { minLength: 3 }), async (links, queries) => {
        const account = { key: await app.createKey({ account: await app.createAccount() }) }
        domains += 1
        await stored('/domains', { name: `d${domains}.acme.com` }, account)
        const tags = new Map<string, number>()
        for (const name of names) tags.set(name, (await stored('/tags', { name }, account)).id)
        const model = await storeAll(account, links)
        for (const { tags: wanted, archived, sort_by, search } of queries) {
          const given = { tag_id: wanted.map((name) => tags.get(name)).join(), archived, sort_by, search }
          const text = new URLSearchParams(Object.entries(given).filter(([, value]) => value !== ''))
          const { body } = await ask('GET', `/links?per_page=100&${text}`, undefined, account)
          const hasTags = (each: Json) => wanted.every((name) => each.tags.includes(name))
          const isListed = (each: Json) => archived === 'any' || each.archived === (archived === 'true')
          const expected = search === 'nothing' ? [] : model.filter((each) => hasTags(each) && isListed(each))
          assert.deepEqual(new Set(body.data.map(({ id }: Json) => id)), new Set(expected.map(({ id }) => id)))
          assert.equal(body.meta.total, expected.length)
        }
        for (const [name, id] of tags) {
          const { body } = await ask('GET', `/tags/${id}`, undefined, account)
          assert.equal(body.data.links, model.filter((each) => each.tags.includes(name)).length)
        }
      }),
      { numRuns: runs(20, 10) },
    )
  })
})
