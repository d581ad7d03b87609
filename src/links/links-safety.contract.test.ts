/** Entity tags, conditions and retries where links differ from other records. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Answer, Json } from '../../test/client.ts'
import { clickOn, fresh, newPlace } from '../../test/links-api.ts'

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
  test('304 for an unchanged link; 200 after a click or an edit', async () => {
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

    test(`${done} if only clicks have changed, with the previous and the present tag`, async () => {
      for (const isPresent of [false, true]) {
        const { id } = await link()
        const before = await tagOf(id)
        await clickedOnce(id)
        assert.equal((await change(id, isPresent ? await tagOf(id) : before)).status, done)
      }
    })

    test('412 with the current tag after an edit', async () => {
      const { id } = await link()
      const before = await tagOf(id)
      await send('PATCH', `/links/${id}`, { form: { url: 'https://acme.com/other' } })
      await clickedOnce(id)
      const { status, body, headers } = await change(id, before)
      assert.deepEqual([status, body.code, headers.etag], [412, 'precondition_failed', await tagOf(id)])
      assert.equal((await send('GET', `/links/${id}`)).body.data.title, null)
      assert.equal((await change(id, String(headers.etag))).status, done)
    })

    test('412 for If-None-Match with the present version, even after clicks', async () => {
      const { id } = await link()
      const headers = { 'if-none-match': await tagOf(id) }
      await clickedOnce(id)
      assert.equal((await send(method, `/links/${id}`, { ...form, headers })).status, 412)
    })
  })
}

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
