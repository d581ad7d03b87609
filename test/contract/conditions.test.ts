/** ETag, If-None-Match and If-Match. `links-safety.contract.test.ts` tests them for links, which have clicks. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../app.ts'
import type { Answer, Json } from '../client.ts'
import { fresh } from '../links-api.ts'

const app = await startApp()

interface Stored {
  readonly path: string
  readonly etag: string
  readonly data: Json
}

const strong = /^"[!#-~]+"$/
const changes = ['PUT', 'PATCH'] as const
const unsafe = [...changes, 'DELETE'] as const
const weak = (etag: string) => `W/${etag}`
const collection = '/api/v1/domains'

const stored = async (): Promise<Stored> => {
  const { status, headers, body } = await app.send('POST', collection, { form: { name: `${fresh('c')}.acme.com` } })
  assert.equal(status, 201)
  return { path: `${collection}/${body.data.id}`, etag: String(headers.etag), data: body.data }
}
const ask = (method: string, path: string, headers: Record<string, string>, form?: Record<string, string>) =>
  app.send(method, path, { headers, ...(form && { form }) })
const change = (n: number) => ({ homepage_url: `https://acme.com/${n}` })

const assertUnchanged = async ({ path, etag, data }: Stored) => {
  const { status, headers, body } = await app.send('GET', path)
  assert.deepEqual([status, headers.etag, body], [200, etag, { data }])
}
const assertFailed = ({ status, body, headers }: Answer, etag: string) => {
  assert.deepEqual([status, body.code, headers.etag], [412, 'precondition_failed', etag])
}

describe('the ETag', () => {
  test('201 and 200 with the same strong tag on store, show, HEAD, and an update that changes nothing', async () => {
    const { path, etag } = await stored()
    assert.match(etag, strong)
    for (const method of ['GET', 'HEAD', ...changes]) assert.equal((await app.send(method, path)).headers.etag, etag)
  })

  test('200 with another tag after each change, however fast they come', async () => {
    const { path, etag } = await stored()
    const asked = Array.from({ length: 50 }, (_, n) => app.send('PATCH', path, { form: change(n) }))
    const tags = new Set([etag, ...(await Promise.all(asked)).map(({ headers }) => headers.etag)])
    assert.equal(tags.size, 51)
    assert.ok(tags.has(String((await app.send('GET', path)).headers.etag)))
  })
})

describe('If-None-Match', () => {
  test('304 on GET and HEAD, with the ETag and without a body', async () => {
    const { path, etag } = await stored()
    for (const known of [etag, weak(etag), '*', `"other", ${etag}`, `,, W/"x",\t${weak(etag)} ,`]) {
      for (const method of ['GET', 'HEAD']) {
        const answer = await ask(method, path, { 'if-none-match': known })
        assert.deepEqual([answer.status, answer.headers.etag, answer.text], [304, etag, ''], `${method} ${known}`)
      }
    }
  })

  test('200 for any other tag and once the record has changed, 404 once it is deleted', async () => {
    const { path, etag, data } = await stored()
    for (const other of ['"other"', `"${etag.slice(1, -2)}"`, 'W/"other", ""']) {
      const { status, body } = await ask('GET', path, { 'if-none-match': other })
      assert.deepEqual([status, body], [200, { data }])
    }
    const changed = await app.send('PATCH', path, { form: change(1) })
    const { status, headers, body } = await ask('GET', path, { 'if-none-match': etag })
    assert.deepEqual([status, headers.etag, body], [200, changed.headers.etag, changed.body])
    await app.send('DELETE', path)
    for (const known of [etag, '*']) assert.equal((await ask('GET', path, { 'if-none-match': known })).status, 404)
  })

  test('412 on PUT, PATCH and DELETE when it matches, as RFC 9110 §13.1.2 has it', async () => {
    const record = await stored()
    for (const method of unsafe) {
      for (const known of [record.etag, '*'])
        assertFailed(await ask(method, record.path, { 'if-none-match': known }, change(1)), record.etag)
    }
    await assertUnchanged(record)
    assert.equal((await ask('PATCH', record.path, { 'if-none-match': '"x"' }, change(1))).status, 200)
  })

  test('304 for a list while its content is the same; 200 with another tag once a record has changed', async () => {
    const { path } = await stored()
    const list = `${collection}?per_page=10`
    const { status, headers } = await ask('GET', list, {})
    assert.equal(status, 200)
    assert.match(String(headers.etag), strong)
    const known = { 'if-none-match': String(headers.etag) }
    const again = await ask('GET', list, known)
    assert.deepEqual([again.status, again.text, again.headers.etag], [304, '', headers.etag])
    assert.equal(again.headers.vary, 'Accept-Encoding')
    const failed = await ask('GET', list, { 'if-match': '"x"' })
    assert.deepEqual([failed.status, failed.headers.link], [412, undefined])
    await ask('PATCH', path, {}, change(1))
    const changed = await ask('GET', list, known)
    assert.equal(changed.status, 200)
    assert.notEqual(changed.headers.etag, headers.etag)
  })
})

describe('If-Match', () => {
  for (const method of changes) {
    test(`200 for ${method} with the tag of the present state, alone or in a list, and with *`, async () => {
      const { path, etag } = await stored()
      let present = etag
      for (const [n, wanted] of [() => present, () => `"x" , ${present}`, () => '*'].entries()) {
        const { status, headers, body } = await ask(method, path, { 'if-match': wanted() }, change(n))
        assert.deepEqual([status, body.data.homepage_url], [200, change(n).homepage_url])
        assert.notEqual(headers.etag, present)
        present = String(headers.etag)
      }
      assertFailed(await ask(method, path, { 'if-match': etag }), present)
      assertFailed(await ask(method, path, { 'if-match': etag }, change(4)), present)
    })
  }

  test('412 for any other tag, a weak one too, before 422, and nothing is changed', async () => {
    const record = await stored()
    const invalid = { homepage_url: 'acme.com' }
    for (const method of unsafe) {
      for (const wanted of ['"x"', weak(record.etag), `"x", ${weak(record.etag)}`, 'W/"x"']) {
        assertFailed(await ask(method, record.path, { 'if-match': wanted }, change(1)), record.etag)
        assertFailed(await ask(method, record.path, { 'if-match': wanted }, invalid), record.etag)
      }
    }
    for (const method of changes)
      assert.equal((await ask(method, record.path, { 'if-match': record.etag }, invalid)).status, 422)
    await assertUnchanged(record)
  })

  test('204 for DELETE with the tag of the present state, then 404', async () => {
    const { path, etag } = await stored()
    assert.equal((await ask('DELETE', path, { 'if-match': etag })).status, 204)
    assert.equal((await ask('DELETE', path, { 'if-match': etag })).status, 404)
    assert.equal((await ask('DELETE', (await stored()).path, { 'if-match': '*' })).status, 204)
  })

  test('412 for GET and HEAD with any other tag, before If-None-Match is looked at', async () => {
    const { path, etag } = await stored()
    assertFailed(await ask('GET', path, { 'if-match': '"x"', 'if-none-match': etag }), etag)
    assert.equal((await ask('HEAD', path, { 'if-match': '"x"' })).status, 412)
    assert.equal((await ask('GET', path, { 'if-match': etag })).status, 200)
    assert.equal((await ask('GET', path, { 'if-match': etag, 'if-none-match': etag })).status, 304)
  })
})

test('400 for a malformed condition on every operation on a record, and nothing is done', async () => {
  const record = await stored()
  for (const sent of ['1-a', '"1-a', "'1-a'", '', ',', '*, "a"', '"a" "b"', '"a b"']) {
    for (const method of ['GET', ...unsafe]) {
      for (const header of ['if-match', 'if-none-match']) {
        const { status, body } = await ask(method, record.path, { [header]: sent }, change(1))
        assert.deepEqual([status, body.code], [400, 'malformed_request'], `${method} ${header} ${sent}`)
        assert.match(body.detail, new RegExp(`^The ${header} header`, 'i'))
      }
    }
  }
  await assertUnchanged(record)
})

test('304, 412 and 200 for a space', async () => {
  const { body, headers } = await app.send('POST', '/api/v1/spaces', { form: { name: 'Marketing' } })
  const path = `/api/v1/spaces/${body.data.id}`
  assert.equal((await ask('GET', path, { 'if-none-match': String(headers.etag) })).status, 304)
  assertFailed(await ask('PATCH', path, { 'if-match': '"x"' }, { color: '2' }), String(headers.etag))
  assert.equal((await ask('PATCH', path, { 'if-match': String(headers.etag) }, { color: '2' })).status, 200)
})
