import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Json, Request } from '../../test/client.ts'
import { stopClock } from '../../test/clock.ts'
import { assertRefused, newPlace, type Place } from '../../test/links-api.ts'
import { commandActor } from '../access/actor.ts'
import type { ShortUrl } from '../names/short-url.ts'
import type { Db } from '../storage/port.ts'
import { runBatch } from './batch.ts'
import { type NewLink, storeLink } from './schema.ts'

const app = await startApp()
const place = await newPlace(app)
const other = await newPlace(app)
const url = 'https://acme.com'
const store = (links: unknown, request: Request = {}, query = '', at = place) =>
  at.send('POST', `/links/bulk${query}`, { json: { links }, ...request })
const csv = (text: string, query = '', at = place) =>
  at.send('POST', `/links/bulk${query}`, { body: text, headers: { 'content-type': 'text/csv' } })
const update = (json: object, request: Request = {}, query = '', at = place) =>
  at.send('PATCH', `/links/bulk${query}`, { json, ...request })
const remove = (ids: unknown, query = '', at = place) =>
  at.send('POST', `/links/bulk/delete${query}`, { json: { ids } })
const statuses = ({ body }: { body: Json }) => body.data.map(({ status }: Json) => status)
const total = async (at: Place) => (await at.send('GET', '/links?archived=any')).body.meta.total
const shown = async (id: number, at = place) => (await at.send('GET', `/links/${id}`)).body.data

describe('POST /links/bulk', () => {
  test('200 with a 201 row for each link, and the record; the redirect server knows it', async () => {
    const answer = await store([{ url, alias: 'bulk-a', tags: ['New'] }, { url }])
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(answer.body.meta, { succeeded: 2, failed: 0 })
    const [first, second] = answer.body.data
    assert.deepEqual(Object.keys(first), ['index', 'status', 'data'])
    assert.deepEqual([first.index, first.status, second.index], [0, 201, 1])
    assert.deepEqual(first.data, await shown(first.data.id))
    assert.equal((await app.visit(`http://${place.domain.name}/bulk-a`)).status, 302)
  })

  test('rows fail independently, with the status and violations of a separate request', async () => {
    const at = await newPlace(app)
    const bad = [
      { url: 'acme.com', redirect_status: 303 },
      { url, alias: 'same' },
      { url, space_id: 999_999 },
      { url, domain_id: place.domain.id },
      { url, colour: 1, title: 'x'.repeat(256) },
      { url, tags: ['x,y'], clicks_limit: 0, alias: 'robots.txt' },
      { url, has_redirect_password: true },
      7,
    ]
    const answer = await store([{ url, alias: 'same' }, ...bad], {}, '', at)
    assert.deepEqual(statuses(answer), [201, 422, 409, 422, 422, 422, 422, 422, 400])
    assert.deepEqual(answer.body.meta, { succeeded: 1, failed: 8 })
    for (const [place, sent] of bad.slice(0, 6).entries()) {
      const { index, status, ...row } = answer.body.data[place + 1]
      const { code, message, violations } = (await at.send('POST', '/links', { json: sent })).body
      assert.deepEqual(row, { code, message, violations })
    }
    assert.deepEqual(answer.body.data[7].violations[0].field, 'redirect_password')
    assert.equal(await total(at), 1)
  })

  test('ignores has_redirect_password unless it is a flag, as in a separate request', async () => {
    const values = [{}, [{}], [true], '', 'yes', 2, null, false]
    const answer = await store(values.map((has_redirect_password) => ({ url, has_redirect_password })))
    assert.deepEqual(
      statuses(answer),
      values.map(() => 201),
    )
  })

  test('a repeated member fails its row as in a separate request, and in set the whole request', async () => {
    const twice = `{"url":"${url}","alias":"first","alias":"second"}`
    const [bulk, single] = await Promise.all([
      store(null, { json: undefined, body: `{"links":[${twice}]}`, headers: { 'content-type': 'application/json' } }),
      place.send('POST', '/links', { body: twice, headers: { 'content-type': 'application/json' } }),
    ])
    assertRefused(single, ['alias', 'not_single'])
    assert.deepEqual(bulk.body.data[0].violations, single.body.violations)
    const body = '{"ids":[1],"set":{"title":"a","title":"b"}}'
    const patch = await place.send('PATCH', '/links/bulk', { body, headers: { 'content-type': 'application/json' } })
    assertRefused(patch, ['set.title', 'not_single'])
  })

  test('a response has about 2,000 violations: further rows show only their first', async () => {
    const row = Object.fromEntries(Array.from({ length: 99 }, (_, n) => [`u${n}`, 1]))
    const { status, body } = await store(Array(30).fill(row), {}, '?atomic=true')
    const counts = body.data.map(({ violations }: Json) => violations.length)
    assert.deepEqual([status, counts.slice(0, 20), counts.slice(20)], [422, Array(20).fill(100), Array(10).fill(1)])
    assert.equal(body.violations.length, 2_010)
    assert.match(body.data[29].message, /and 99 more errors/)
  })

  test('a link stored by an earlier row takes its alias; a failed row leaves no tag and no link', async () => {
    const at = await newPlace(app)
    const rows = [
      { url, alias: 'x' },
      { url, alias: 'X', tags: ['Gone'] },
    ]
    assert.deepEqual(statuses(await store(rows, {}, '', at)), [201, 409])
    assert.equal((await at.send('GET', '/tags')).body.meta.total, 0)
  })

  test('unknown tags need tags:write, per row', async () => {
    const at = await newPlace(app)
    const key = await app.createKey({ account: at.account, scopes: ['links:write'] })
    const answer = await store([{ url, tags: ['Unknown'] }, { url }], { key }, '', at)
    assert.deepEqual(statuses(answer), [422, 201])
    assert.equal(answer.body.data[0].violations[0].code, 'unknown_tag')
    assert.equal(await total(at), 1)
  })

  test('atomic: 422 bulk_rejected with 424 rows, and nothing stored', async () => {
    const at = await newPlace(app)
    const answer = await store([{ url }, {}, { url, alias: '..' }, 'x'], {}, '?atomic=true', at)
    assert.equal(answer.status, 422)
    assert.equal(answer.body.code, 'bulk_rejected')
    assert.deepEqual(
      answer.body.violations.map(({ field, code }: Json) => [field, code]),
      [
        ['links.1.url', 'required'],
        ['links.2.alias', 'dot_segment'],
        ['links.3', 'malformed_row'],
      ],
    )
    assert.deepEqual(statuses(answer), [424, 422, 422, 400])
    assert.equal(answer.body.data[0].code, 'not_applied')
    assert.deepEqual(answer.body.meta, { succeeded: 0, failed: 3 })
    assert.equal(await total(at), 0)
    assert.deepEqual(statuses(await store([{ url }], {}, '?atomic=1', at)), [201])
    assertRefused(await store([{ url }], {}, '?atomic=maybe', at), ['atomic', 'not_a_boolean'])
  })

  test('422 for a list that is missing, empty, too long or no list; 415 for forms; 413 above 1 MiB', async () => {
    for (const [links, code] of [
      [undefined, 'required'],
      [[], 'required'],
      ['x', 'not_a_list'],
      [Array.from({ length: 1_001 }, () => ({})), 'too_many'],
    ] as const) {
      assertRefused(await store(links), ['links', code])
    }
    assertRefused(await place.send('POST', '/links/bulk', { json: { links: [{ url }], more: 1 } }), [
      'more',
      'unknown_field',
    ])
    assert.equal((await place.send('POST', '/links/bulk', { form: { url } })).status, 415)
    assert.equal((await store([{ url, notes: 'x'.repeat(1_048_576) }])).status, 413)
    assert.equal((await place.send('POST', '/links', { json: { url, notes: 'x'.repeat(65_536) } })).status, 413)
    const { status, body } = await store([{ url }], { headers: { 'if-match': '*' } })
    assert.deepEqual([status, body.code], [412, 'precondition_failed'])
  })

  test('csv: a round trip of an export only changes values that the server assigns', async () => {
    const [from, to] = [await newPlace(app), await newPlace(app)]
    await from.link({ alias: 'a', title: "'=1+1", notes: 'two\n"lines"', tags: ['b', 'A'], archived: true })
    await from.link({
      alias: 'b',
      active_period_end_at: '2100-01-01T00:00:00Z',
      clicks_limit: 70_001,
      redirect_status: 301,
    })
    const { text } = await from.send('GET', '/links/export?archived=any')
    const id = `,${to.domain.id},`
    const answer = await csv(text.replaceAll(`,${from.domain.id},`, id), '', to)
    assert.deepEqual(statuses(answer), [201, 201], answer.text)
    const fields = ({ id, domain_id, short_url, created_at, updated_at, ...rest }: Json) => rest
    const read = async (at: Place) => (await at.send('GET', '/links?archived=any')).body.data.map(fields)
    assert.deepEqual(await read(to), await read(from))
  })

  test('csv: 422 for an unknown or repeated column, 400 for an open quote, and a row with too many cells fails', async () => {
    assertRefused(await csv('url,colour\r\nhttps://acme.com,1\r\n'), ['colour', 'unknown_field'])
    assertRefused(await csv('url,url\r\nhttps://acme.com,1\r\n'), ['url', 'not_single'])
    assertRefused(await csv('url\r\n'), ['links', 'required'])
    assertRefused(await csv(''), ['links', 'required'])
    const broken = await csv('\ufeffurl,title\r\nhttps://acme.com,"a\r\nb')
    assert.deepEqual([broken.status, broken.body.code], [400, 'malformed_body'])
    assert.match(
      broken.body.message,
      /^The CSV cannot be read\. In row 2, column 2, the quote in line 2 is never closed\. /,
    )
    assert.deepEqual(
      statuses(await csv('url,title\rhttps://acme.com,27" monitor\r')),
      [201],
      'old line ends, and a quote',
    )
    const late = await csv(`url${'\n'.repeat(20_000)}https://acme.com\n`)
    assert.deepEqual(statuses(late), [201], 'a row after many empty lines')
    const answer = await csv('\ufeffurl,title\nhttps://acme.com\nhttps://acme.com,a,b\n')
    assert.deepEqual(statuses(answer), [201, 422])
    assert.deepEqual(
      [answer.body.data[1].violations[0].field, answer.body.data[1].violations[0].code],
      ['csv', 'malformed_row'],
    )
    const lateQuote = await csv(
      'url,title\nhttps://acme.com,"27 inch\nhttps://acme.com,"\nhttps://acme.com,"1\n2","3"\n',
    )
    assert.match(
      lateQuote.body.data[1].violations[0].message,
      /has 3 cells.* Cell 2 has several lines: check where its quote/,
    )
  })
})

describe('PATCH /links/bulk', () => {
  test('200 rows with the changed records; 404 rows for unknown and foreign ids; duplicate ids count once', async () => {
    const [one, two, foreign] = [await place.link({ tags: ['Old', 'Keep'] }), await place.link(), await other.link()]
    const ids = [one.id, String(two.id), foreign.id, 999_999, one.id]
    const answer = await update({
      ids,
      set: { title: 'T', url: 'https://b.example' },
      add_tags: ['New'],
      remove_tags: ['old', 'no'],
    })
    assert.deepEqual(statuses(answer), [200, 200, 404, 404], answer.text)
    assert.deepEqual(
      answer.body.data.map(({ id }: Json) => id),
      [one.id, two.id, foreign.id, 999_999],
    )
    const { index: _, id: __, ...missing } = answer.body.data[2]
    assert.deepEqual(missing, { status: 404, code: 'not_found', message: 'There is no such link.' })
    assert.deepEqual(answer.body.data[0].data, await shown(one.id))
    assert.deepEqual([(await shown(one.id)).tags, (await shown(two.id)).title], [['Keep', 'New'], 'T'])
    assert.equal((await shown(foreign.id, other)).title, null)
    const visited = await app.visit(one.short_url.replace(':3080', ''))
    assert.equal(visited.headers.location, 'https://b.example/')
  })

  test('without fields, changes nothing', async () => {
    const link = await place.link({ tags: ['Same'] })
    assert.deepEqual((await update({ ids: [link.id] })).body.data[0].data, link)
  })

  test('422 for errors of set and of tags, with their names, and for malformed ids', async () => {
    const { id } = await place.link()
    for (const [json, field, code] of [
      [{ set: { tags: ['a'] }, add_tags: ['b'] }, 'set.tags', 'not_allowed'],
      [{ set: [] }, 'set', 'malformed_row'],
      [{ add_tags: ['a,b'] }, 'add_tags', 'invalid_character'],
      [{ remove_tags: ['x'.repeat(51)] }, 'remove_tags', 'too_long'],
      [{ ids: [id, 'x'] }, 'ids', 'out_of_range'],
      [{ ids: [] }, 'ids', 'required'],
      [{ ids: Array.from({ length: 1_001 }, (_, n) => n + 1) }, 'ids', 'too_many'],
      [{ ids: '1,'.repeat(10_001) }, 'ids', 'too_many'],
      [{ ids: [1], add_tags: ','.repeat(200_000) }, 'add_tags', 'too_many'],
      [{ ids: [1], add_tags: Array(1_001).fill('a') }, 'add_tags', 'too_many'],
      [
        { set: { active_period_start_at: '2030-01-01 00:00', active_period_end_at: '2029-01-01 00:00' } },
        'set.active_period_end_at',
        'not_after_start',
      ],
    ] as const) {
      assertRefused(await update({ ids: [id], ...json }), [field, code])
    }
    const key = await app.createKey({ account: place.account, scopes: ['links:write'] })
    assertRefused(await update({ ids: [id], add_tags: ['Nobody'] }, { key }), ['add_tags', 'unknown_tag'])
    assert.equal((await place.send('PATCH', '/links/bulk', { form: `ids=${id}` })).status, 415)
  })

  test('a link that would exceed 20 tags, or end before it starts, fails as its own row; atomic names ids.1', async () => {
    const full = await place.link({ tags: Array.from({ length: 20 }, (_, n) => `t${n}`) })
    const plain = await place.link({ active_period_start_at: '2030-01-01 00:00' })
    const answer = await update({ ids: [plain.id, full.id], add_tags: ['extra'] })
    assert.deepEqual(statuses(answer), [200, 422])
    assert.deepEqual(answer.body.data[1].violations[0].code, 'too_many')
    const exact = await update({ ids: [plain.id, full.id], set: { exact: true }, add_tags: ['Extra', 'more'] })
    assert.deepEqual(statuses(exact), [200, 422])
    assert.deepEqual([(await shown(plain.id)).exact, (await shown(full.id)).exact], [true, false])
    const ids = [full.id, plain.id]
    const rejected = await update(
      { ids, set: { active_period_end_at: '2029-01-01 00:00', title: 'Not' } },
      {},
      '?atomic=true',
    )
    assert.equal(rejected.body.code, 'bulk_rejected')
    assert.deepEqual(
      rejected.body.violations.map(({ field, code }: Json) => [field, code]),
      [['ids.1', 'not_after_start']],
    )
    assert.deepEqual(statuses(rejected), [424, 422])
    assert.equal((await shown(full.id)).title, null)
  })

  test('Idempotency-Key: the repetition gets the first response and changes nothing', async () => {
    const link = await place.link()
    const headers = { 'idempotency-key': 'patch-1' }
    const first = await update({ ids: [link.id], set: { title: 'One' } }, { headers })
    await place.send('PATCH', `/links/${link.id}`, { json: { title: 'Two' } })
    const again = await update({ ids: [link.id], set: { title: 'One' } }, { headers })
    assert.equal(again.headers['idempotency-replayed'], 'true')
    assert.deepEqual(again.body, first.body)
    assert.equal((await shown(link.id)).title, 'Two')
    const reused = await update({ ids: [link.id], set: { title: 'Other' } }, { headers })
    assert.equal(reused.body.code, 'idempotency_key_reused')
    const text = (alias: string) => `url,alias\n${url},${alias}\n`
    const send = (alias: string) =>
      place.send('POST', '/links/bulk', {
        body: text(alias),
        headers: { 'content-type': 'text/csv', 'idempotency-key': 'csv' },
      })
    assert.deepEqual(statuses(await send('csv-a')), [201])
    assert.deepEqual(statuses(await send('csv-a')), [201])
    assert.equal((await send('csv-b')).body.code, 'idempotency_key_reused')
  })
})

describe('POST /links/bulk/delete', () => {
  test('204 rows, and 404 rows for unknown and foreign ids; forms work; visitors get 404', async () => {
    const [one, two, foreign] = [await place.link({ alias: 'del-1' }), await place.link(), await other.link()]
    assert.equal((await app.visit(`http://${place.domain.name}/del-1`)).status, 302)
    const answer = await remove([one.id, foreign.id])
    assert.deepEqual(answer.body.data, [
      { index: 0, id: one.id, status: 204 },
      { index: 1, id: foreign.id, status: 404, code: 'not_found', message: 'There is no such link.' },
    ])
    assert.equal((await app.visit(`http://${place.domain.name}/del-1`)).status, 404)
    const form = await place.send('POST', '/links/bulk/delete', { form: { ids: `${two.id},999999` } })
    assert.deepEqual(statuses(form), [204, 404])
    assert.equal((await shown(foreign.id, other)).id, foreign.id)
  })

  test('atomic: an unknown id keeps all links', async () => {
    const { id } = await place.link()
    const answer = await remove([id, 999_999], '?atomic=true')
    assert.deepEqual(
      answer.body.violations.map(({ field, code }: Json) => [field, code]),
      [['ids.1', 'unknown_link']],
    )
    assert.equal((await shown(id)).id, id)
  })
})

describe('bulk requests', () => {
  test('each started 100 rows use one unit; 429 uses no units and stores nothing', async (t) => {
    stopClock(t)
    const limited = await startApp({ rateLimit: 5 })
    const at = await newPlace(limited)
    const key = await limited.createKey({ account: at.account })
    const rows = (count: number) => Array.from({ length: count }, () => ({ url }))
    const first = await store(rows(201), { key }, '', at)
    assert.deepEqual([first.status, first.headers['x-ratelimit-remaining']], [200, '2'])
    const refused = await store(rows(300), { key }, '', at)
    assert.deepEqual([refused.status, refused.headers['x-ratelimit-remaining']], [429, '2'])
    assert.equal((await store(rows(101), { key }, '', at)).headers['x-ratelimit-remaining'], '0')
    const whole = await limited.createKey({ account: at.account })
    assert.equal((await store(rows(600), { key: whole }, '', at)).status, 200)
  })

  test('a failure of any statement stores nothing', async () => {
    const at = await newPlace(app)
    const { data: space } = (await at.send('POST', '/spaces', { json: { name: 'Print' } })).body
    const links = [
      { url, alias: 'a', tags: 'New', space_id: String(space.id) },
      { url, tags: 'Other' },
    ]
    const rows = links.map((link) => storeLink.check(link) as NewLink)
    const change = { kind: 'store', rows } as const
    let left = 0
    const orFail = async <T>(run: () => Promise<T>) => {
      left -= 1
      if (left < 0) throw new Error('cut off')
      return run()
    }
    const failing: Db = {
      execute: (query) => app.storage.execute(query),
      write: (work) => app.storage.write((tx) => work({ ...tx, execute: (query) => orFail(() => tx.execute(query)) })),
    }
    const actor = commandActor(at.account, 'Test')
    const request = { actor, change, isAtomic: false, claim: null, hasResults: true }
    const shortUrl: ShortUrl = (domain, alias) => `https://${domain}/${alias}`
    const attempt = () => runBatch(failing, request, { shortUrl, urlSchemes: [] })
    const isCutOff = (error: Error) => error.message === 'cut off' || Promise.reject(error)
    let statements = 0
    for (; await attempt().then(() => false, isCutOff); left = statements) {
      statements += 1
      assert.equal(await total(at), 0)
      assert.equal((await at.send('GET', '/tags')).body.meta.total, 0)
    }
    assert.ok(statements > 6, `${statements} statements`)
    assert.equal(await total(at), 2)
  })
})
