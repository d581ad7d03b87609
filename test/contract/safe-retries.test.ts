/** The Idempotency-Key header. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { databaseUnavailable } from '../../src/errors.ts'
import type { Claim } from '../../src/idempotency/store.ts'
import type { Storage } from '../../src/storage/port.ts'
import { query } from '../../src/storage/schema.ts'
import { startApp, type TestApp } from '../app.ts'
import { type Answer, assertProblem, type Json, type Request } from '../client.ts'
import { withMethods } from '../failing-storage.ts'
import { fresh } from '../links-api.ts'

const app = await startApp()
const freshKey = () => fresh('key-')
const freshName = () => `${fresh('r')}.acme.com`

/** Posts under an Idempotency-Key. */
function post(to: TestApp, path: string, idempotencyKey: string, request: Request): Promise<Answer> {
  return to.send('POST', path, { ...request, headers: { ...request.headers, 'idempotency-key': idempotencyKey } })
}

const replayed = ({ headers }: Answer) => headers['idempotency-replayed']

function assertReplay(again: Answer, first: Answer): void {
  assert.equal(first.status, 201, first.text)
  assert.equal(replayed(first), undefined)
  assert.equal(replayed(again), 'true')
  assert.deepEqual([again.status, again.text], [first.status, first.text])
  for (const name of ['location', 'etag', 'content-type', 'content-length', 'cache-control'])
    assert.equal(again.headers[name], first.headers[name], name)
  assert.notEqual(again.headers['x-request-id'], first.headers['x-request-id'])
}

/** Counts the records with exactly this name. */
async function countOf(to: TestApp, path: string, name: string): Promise<number> {
  const { body } = await to.send('GET', `${path}?per_page=100&search=${encodeURIComponent(name)}`)
  return body.data.filter((each: Json) => each.name === name).length
}

/** Gives a stored response the fingerprint that another release of Waymark computed. */
const storedByAnotherRelease = ({ idempotency_key, fingerprint }: Record<'idempotency_key' | 'fingerprint', string>) =>
  query
    .withTables<{ stored_responses: Claim }>()
    .updateTable('stored_responses')
    .set({ fingerprint })
    .where('idempotency_key', '=', idempotency_key)

const path = '/api/v1/domains'
const change = { homepage_url: 'https://changed.com' }

describe('Idempotency-Key', () => {
  test('201 with the stored response for a repeated request, even if the record was changed or deleted', async () => {
    const [key, name] = [freshKey(), freshName()]
    const first = await post(app, path, key, { form: { name } })
    assertReplay(await post(app, path, key, { form: { name } }), first)
    const { pathname } = new URL(String(first.headers.location))
    assert.deepEqual((await app.send('GET', pathname)).body, first.body)
    await app.send('PATCH', pathname, { form: change })
    assertReplay(await post(app, path, key, { form: { name } }), first)
    await app.send('DELETE', pathname)
    assertReplay(await post(app, path, key, { form: { name } }), first)
    assert.equal(await countOf(app, path, name), 0)
  })

  test('201 for the same fields in another order, as a form or JSON', async () => {
    const [key, name] = [freshKey(), freshName()]
    const [field, value] = ['homepage_url', 'https://acme.com']
    const first = await post(app, path, key, { form: { name, [field]: value } })
    assertReplay(await post(app, path, key, { form: { [field]: value, name } }), first)
    assertReplay(await post(app, path, key, { json: { [field]: value, name } }), first)
    assertReplay(await post(app, path, key, { form: `&name=${name}&${field}=${encodeURIComponent(value)}` }), first)
  })

  test('201 for the same request with another key, or with the same Idempotency-Key and another API key', async () => {
    const key = freshKey()
    const keys = [await app.createKey(), await app.createKey({ account: await app.createAccount() })]
    const asked = [{ form: { name: freshName() } }, ...keys.map((each) => ({ key: each, form: { name: freshName() } }))]
    const firsts: Answer[] = []
    for (const request of asked) firsts.push(await post(app, path, key, request))
    assert.equal(new Set(firsts.map(({ body }) => body.data.id)).size, 3)
    for (const [index, request] of asked.entries())
      assertReplay(await post(app, path, key, request), firsts[index] as Answer)
  })

  test('422 idempotency_key_reused for another request with the key, and nothing is stored', async () => {
    const [key, name] = [freshKey(), freshName()]
    const first = await post(app, path, key, { form: { name } })
    const other = freshName()
    for (const form of [{ name: other }, { name, homepage_url: 'https://acme.com' }, { name: name.toUpperCase() }]) {
      const answer = await post(app, path, key, { form })
      assertProblem(answer, 422, 'idempotency_key_reused')
      assert.deepEqual(
        answer.body.violations.map(({ field, code }: Json) => [field, code]),
        [['Idempotency-Key', 'key_reused']],
      )
    }
    assertProblem(await post(app, '/api/v1/spaces', key, { form: { name } }), 422, 'idempotency_key_reused')
    assertProblem(await post(app, `${path}?x=1`, key, { form: { name } }), 422, 'idempotency_key_reused')
    assert.equal(await countOf(app, path, other), 0)
    assertReplay(await post(app, path, key, { form: { name } }), first)
  })

  test('201 for a repeated request whose stored response has the fingerprint of another release', async () => {
    for (const fingerprint of ['rUzSDjLqcNO0w9dNQGEV8ZhCdX2xvKpCB8PUXtTLlBk', '12:x']) {
      const [key, name, other] = [freshKey(), freshName(), freshName()]
      await post(app, path, key, { form: { name } })
      await app.storage.execute(storedByAnotherRelease({ idempotency_key: key, fingerprint }))
      const again = await post(app, path, key, { form: { name: other } })
      assertReplay(await post(app, path, key, { form: { name: other } }), again)
      assertProblem(await post(app, path, key, { form: { name } }), 422, 'idempotency_key_reused')
    }
  })

  test('401, 403, 4xx of the body and 422 store nothing, so the key works for the corrected request', async () => {
    const [key, name] = [freshKey(), freshName()]
    const reader = await app.createKey({ scopes: ['domains:read'] })
    const invalid = { form: { name, homepage_url: 'acme.com' } }
    for (const [request, status] of [
      [{ key: null, form: { name } }, 401],
      [{ key: reader, form: { name } }, 403],
      [{ form: 'name=%zz' }, 400],
      [{ body: name }, 415],
      [invalid, 422],
    ] as const) {
      assert.equal((await post(app, path, key, request)).status, status)
    }
    const first = await post(app, path, key, { form: { name } })
    assertReplay(await post(app, path, key, { form: { name } }), first)
    assertProblem(await post(app, path, key, invalid), 422, 'validation_failed')
  })

  test('409 idempotency_in_progress with Retry-After while the first request runs, then its response', async () => {
    const [key, name] = [freshKey(), freshName()]
    const gate = Promise.withResolvers<void>()
    const held = app.storage.write(() => gate.promise)
    const ask = () => post(app, path, key, { form: { name } })
    const asked = [ask(), ask()]
    const early = await Promise.race(asked)
    assertProblem(early, 409, 'idempotency_in_progress')
    assert.equal(early.headers['retry-after'], '1')
    assert.deepEqual(early.body.errors, { 'Idempotency-Key': [early.body.message] })
    assertProblem(await post(app, path, key, { form: { name: freshName() } }), 409, 'idempotency_in_progress')
    gate.resolve()
    await held
    const first = (await Promise.all(asked)).find(({ status }) => status === 201) as Answer
    assertReplay(await ask(), first)
    assert.equal(await countOf(app, path, name), 1)
  })

  test('503 stores nothing, so the next request with the key is the first', async () => {
    let fault: Error | undefined
    const failing = await startApp({ storage: (real) => failingToWrite(real, () => fault) })
    const [key, name] = [freshKey(), freshName()]
    const ask = () => post(failing, path, key, { form: { name } })
    await failing.send('GET', path)
    fault = databaseUnavailable(new Error('disk full'))
    assertProblem(await ask(), 503, 'database_unavailable')
    fault = undefined
    const first = await ask()
    assertReplay(await ask(), first)
  })

  test('400 for a malformed or repeated Idempotency-Key, before 422, and nothing is stored', async () => {
    const name = freshName()
    const malformed = ['', '""', '"a', 'a b', '"a b"', 'x'.repeat(256), 'a\tb', '\u00e9', '"a";b', '"a", "b"']
    for (const sent of [...malformed, [freshKey(), freshKey()]]) {
      for (const form of [{ name }, { name, zzz: '1' }]) {
        const answer = await app.send('POST', path, { form, headers: { 'idempotency-key': sent } })
        assertProblem(answer, 400, 'malformed_request')
        if (typeof sent === 'string')
          assert.match(answer.body.detail, /^The Idempotency-Key header must be 1 to 255 visible ASCII characters/)
      }
    }
    assert.equal(await countOf(app, path, name), 0)
  })

  test('200, 204 and 304 ignore it', async () => {
    const key = freshKey()
    const { headers } = await post(app, path, key, { form: { name: freshName() } })
    const { pathname } = new URL(String(headers.location))
    for (const idempotencyKey of [key, 'not one']) {
      const sent = { 'idempotency-key': idempotencyKey }
      assert.equal((await app.send('GET', path, { headers: sent })).status, 200)
      const known = { ...sent, 'if-none-match': '*' }
      assert.equal((await app.send('GET', pathname, { headers: known })).status, 304)
      assert.equal((await app.send('PATCH', pathname, { headers: sent, form: change })).status, 200)
    }
    assert.equal((await app.send('DELETE', pathname, { headers: { 'idempotency-key': key } })).status, 204)
  })
})

test('409 name_taken stores nothing, so the same request stores the domain once the name is free', async () => {
  const [key, name] = [freshKey(), freshName()]
  const { body } = await app.send('POST', path, { form: { name } })
  for (let time = 0; time < 2; time++) assertProblem(await post(app, path, key, { form: { name } }), 409, 'name_taken')
  await app.send('DELETE', `${path}/${body.data.id}`)
  const first = await post(app, path, key, { form: { name } })
  assertReplay(await post(app, path, key, { form: { name } }), first)
})

test('201 for the largest possible domain, whose stored response is smaller than its bound', async () => {
  // More characters of three bytes would exceed 8,192 characters in percent-encoding.
  const url = `https://acme.com/${'\u6f22'.repeat(768)}${'x'.repeat(1_263)}`
  const form = { name: `${'xn--bcher-kva.'.repeat(17)}example`, homepage_url: url, not_found_url: url }
  const first = await post(app, path, 'k'.repeat(255), { form })
  assertReplay(await post(app, path, 'k'.repeat(255), { form }), first)
  const size = Buffer.byteLength(first.text)
  assert.ok(size > 7_500 && size < 16 * 1024, String(size))
})

/** Fails writes as a failed commit does: all statements have run, and none of their changes is stored. */
function failingToWrite(real: Storage, fault: () => Error | undefined): Storage {
  const write: Storage['write'] = (work) =>
    real.write(async (tx) => {
      const result = await work(tx)
      const error = fault()
      if (error !== undefined) throw error
      return result
    })
  return withMethods(real, { write })
}
