/** Entity tags, conditions, retries, scopes and methods of links. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Answer, Json } from '../../test/client.ts'
import { assertRefused, clickOn, fresh, newPlace } from '../../test/links-api.ts'

const app = await startApp()
const place = await newPlace(app)
const { send, link } = place
const now = '2026-11-20T12:00:00.000Z'

async function tagOf(id: number): Promise<string> {
  const { headers } = await send('GET', `/links/${id}`)
  assert.match(String(headers.etag), /^"[!#-~]+"$/)
  return String(headers.etag)
}

const clickedOnce = (id: number) => clickOn(app.storage, id, 1, now)
const ifMatch = (tag: string) => ({ headers: { 'if-match': tag } })
const ifNoneMatch = (tag: string) => ({ headers: { 'if-none-match': tag } })

describe('the ETag of a link', () => {
  test('200 and 201 with the same strong tag on store, show, HEAD and an update that changes nothing', async () => {
    const { headers, body } = await send('POST', '/links', { form: { url: 'https://acme.com' } })
    const path = `/links/${body.data.id}`
    assert.equal(await tagOf(body.data.id), headers.etag)
    assert.equal((await send('HEAD', path)).headers.etag, headers.etag)
    for (const method of ['PUT', 'PATCH']) assert.equal((await send(method, path)).headers.etag, headers.etag)
  })

  test('304 while nothing that it shows has changed; 200 after a click or an edit', async () => {
    const { id } = await link()
    const first = await tagOf(id)
    const asked = () => send('GET', `/links/${id}`, ifNoneMatch(first))
    const known = await asked()
    assert.deepEqual([known.status, known.headers.etag], [304, first])
    assert.equal((await send('GET', `/links/${id}`, ifNoneMatch(`W/${first}`))).status, 304)
    await clickedOnce(id)
    const clicked = await asked()
    assert.deepEqual([clicked.status, clicked.body.data.clicks, clicked.body.data.last_clicked_at], [200, 1, now])
    assert.notEqual(clicked.headers.etag, first)
    await send('PATCH', `/links/${id}`, { form: { title: 'Edited' } })
    assert.equal((await send('GET', `/links/${id}`, ifNoneMatch(String(clicked.headers.etag)))).status, 200)
  })

  test('304 for a list until a click is counted', async () => {
    const own = await newPlace(app)
    const { id } = await own.link()
    const { headers } = await own.send('GET', '/links')
    assert.equal((await own.send('GET', '/links', ifNoneMatch(String(headers.etag)))).status, 304)
    await clickedOnce(id)
    assert.equal((await own.send('GET', '/links', ifNoneMatch(String(headers.etag)))).status, 200)
  })
})

for (const method of ['PUT', 'PATCH', 'DELETE']) {
  describe(`If-Match on ${method} /links/{id}`, () => {
    const form = method === 'DELETE' ? {} : { form: { title: 'Changed' } }
    const change = (id: number, tag: string) => send(method, `/links/${id}`, { ...form, ...ifMatch(tag) })
    const done = method === 'DELETE' ? 204 : 200

    test(`${done} while only clicks have moved, with the tag of before and with the present one`, async () => {
      for (const isPresent of [false, true]) {
        const { id } = await link()
        const before = await tagOf(id)
        await clickedOnce(id)
        assert.equal((await change(id, isPresent ? await tagOf(id) : before)).status, done)
      }
    })

    test('412 after an edit, with the tag under which the link is shown now', async () => {
      const { id } = await link()
      const before = await tagOf(id)
      await send('PATCH', `/links/${id}`, { form: { url: 'https://acme.com/other' } })
      await clickedOnce(id)
      const { status, body, headers } = await change(id, before)
      assert.deepEqual([status, body.code, headers.etag], [412, 'precondition_failed', await tagOf(id)])
      assert.equal((await send('GET', `/links/${id}`)).body.data.title, null)
      assert.equal((await change(id, String(headers.etag))).status, done)
    })

    test('412 for a weak tag, though it names the present version', async () => {
      const { id } = await link()
      assert.equal((await change(id, `W/${await tagOf(id)}`)).status, 412)
    })

    test(`${done} for * and for one tag among others; 404 for a link that there is not`, async () => {
      const [one, two] = [await link(), await link()]
      assert.equal((await change(one.id, '*')).status, done)
      assert.equal((await change(two.id, `"x", ${await tagOf(two.id)}`)).status, done)
      assert.equal((await change(999_999, '*')).status, 404)
      assert.equal((await change(999_999, '"x"')).status, 404)
    })

    test('412 for If-None-Match that names the present version, also with clicks since', async () => {
      const { id } = await link()
      const headers = { 'if-none-match': await tagOf(id) }
      await clickedOnce(id)
      assert.equal((await send(method, `/links/${id}`, { ...form, headers })).status, 412)
    })
  })
}

test('412 for all but one of twenty that change one version at once', async () => {
  const { id } = await link()
  const tag = await tagOf(id)
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      send('PATCH', `/links/${id}`, { form: { title: `Title ${n}` }, ...ifMatch(tag) }),
    ),
  )
  assert.equal(answers.filter(({ status }) => status === 200).length, 1)
  assert.equal(answers.filter(({ status }) => status === 412).length, 19)
})

describe('Idempotency-Key on POST /links', () => {
  const post = (key: string, json: Json, to = place) =>
    to.send('POST', '/links', { json, headers: { 'idempotency-key': key } })
  const assertReplay = (again: Answer, first: Answer) => {
    assert.equal(again.headers['idempotency-replayed'], 'true')
    assert.deepEqual(
      [again.status, again.text, again.headers.etag, again.headers.location],
      [first.status, first.text, first.headers.etag, first.headers.location],
    )
  }

  test('201 with the stored answer, generated alias and all, also once the link, its space and its domain are gone', async () => {
    const own = await newPlace(app)
    const space = await own.stored('/spaces', { name: 'Short-lived' })
    const [key, json] = [fresh('key-'), { url: 'https://acme.com', space_id: space.id, redirect_password: 'x' }]
    const first = await post(key, json, own)
    assert.equal(first.status, 201)
    assertReplay(await post(key, json, own), first)
    await clickedOnce(first.body.data.id)
    assertReplay(await post(key, json, own), first)
    assert.equal((await own.send('GET', '/links')).body.meta.total, 1)
    await own.send('DELETE', `/spaces/${space.id}`)
    assert.equal((await own.send('DELETE', `/domains/${own.domain.id}?links=delete`)).status, 204)
    assert.equal((await own.send('GET', `/links/${first.body.data.id}`)).status, 404)
    assertReplay(await post(key, json, own), first)
  })

  test('422 idempotency_key_reused for another link, and 409 alias_taken keeps nothing', async () => {
    const key = fresh('key-')
    const alias = fresh('kept')
    const first = await post(key, { url: 'https://acme.com', alias })
    const reused = await post(key, { url: 'https://acme.com/other', alias })
    assert.deepEqual([first.status, reused.status, reused.body.code], [201, 422, 'idempotency_key_reused'])
    const other = fresh('key-')
    assert.equal((await post(other, { url: 'https://acme.com', alias })).status, 409)
    await send('DELETE', `/links/${first.body.data.id}`)
    assert.equal((await post(other, { url: 'https://acme.com', alias })).status, 201)
  })

  test('201 once for twenty that are sent at once', async () => {
    const own = await newPlace(app)
    const key = fresh('key-')
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(key, { url: 'https://acme.com' }, own)))
    const stored = answers.filter(({ status }) => status === 201)
    assert.equal(new Set(stored.map(({ text }) => text)).size, 1)
    for (const { status, body } of answers) if (status !== 201) assert.equal(body.code, 'idempotency_in_progress')
    assert.equal((await own.send('GET', '/links')).body.meta.total, 1)
  })
})

test('403 without the scope that the method needs, and 401 without a key', async () => {
  const { id } = await link()
  const { account } = place
  const keys = {
    'links:read': await app.createKey({ account, scopes: ['links:read'] }),
    'links:write': await app.createKey({ account, scopes: ['links:write'] }),
    'domains:write': await app.createKey({ account, scopes: ['domains:write', 'spaces:read'] }),
  }
  const asked = [
    ['GET', '/links', 'links:read'],
    ['GET', `/links/${id}`, 'links:read'],
    ['POST', '/links', 'links:write'],
    ['PUT', `/links/${id}`, 'links:write'],
    ['PATCH', `/links/${id}`, 'links:write'],
    ['DELETE', `/links/${id}`, 'links:write'],
  ] as const
  for (const [method, path, scope] of asked) {
    for (const [has, key] of Object.entries(keys)) {
      const { status, body } = await send(method, path, { key })
      if (has === scope) assert.ok(status < 300 || status === 422, `${method} ${status}`)
      else assert.deepEqual([status, body.code], [403, 'insufficient_scope'], `${method} ${has}`)
    }
    assert.equal((await send(method, path, { key: null })).status, 401)
  }
})

test('204 for a preflight, and answers that the page of an allowed origin may read', async () => {
  const origin = 'https://app.example'
  const open = await startApp({ corsOrigins: [origin] })
  const asked = { origin, 'access-control-request-method': 'PATCH', 'access-control-request-headers': 'authorization' }
  const preflight = await open.send('OPTIONS', '/api/v1/links/1', { key: null, headers: asked })
  assert.equal(preflight.status, 204)
  assert.equal(preflight.headers['access-control-allow-origin'], origin)
  const { headers } = await open.send('GET', '/api/v1/links', { headers: { origin } })
  assert.equal(headers['access-control-allow-origin'], origin)
  assert.match(String(headers['access-control-expose-headers']), /etag/i)
})

test('429 beyond the rate of the key', async () => {
  const limited = await startApp({ rateLimit: 3 })
  const statuses: number[] = []
  for (let n = 0; n < 5; n++) statuses.push((await limited.send('GET', '/api/v1/links')).status)
  assert.deepEqual(statuses, [200, 200, 200, 429, 429])
})

test('404 goes before 422, and 422 before 409', async () => {
  const taken = await link({ alias: fresh('taken') })
  assert.equal((await send('PATCH', '/links/999999', { form: { url: 'x', zzz: 1 } })).status, 404)
  const answer = await send('POST', '/links', { form: { url: 'x', alias: taken.alias } })
  assertRefused(answer, ['url', 'not_absolute'])
})

test('changes at the same time never leave a period that ends before it starts', async () => {
  const own = await link({ active_period_start_at: '2026-01-01 00:00', active_period_end_at: '2026-12-31 00:00' })
  const path = `/links/${own.id}`
  for (let round = 0; round < 10; round++) {
    await send('PATCH', path, {
      json: { active_period_start_at: '2026-01-01 00:00', active_period_end_at: '2026-12-31 00:00' },
    })
    const answers = await Promise.all([
      send('PATCH', path, { json: { active_period_start_at: '2026-10-01 00:00' } }),
      send('PATCH', path, { json: { active_period_end_at: '2026-03-01 00:00' } }),
    ])
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 422])
    const { data } = (await send('GET', path)).body
    assert.ok(data.active_period_start_at < data.active_period_end_at)
  }
})
