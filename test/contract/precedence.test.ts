/** Which of several errors is answered: each pair of neighbours in the order of the contract. */
import assert from 'node:assert/strict'
import { after, mock, test } from 'node:test'
import { startApp } from '../app.ts'
import { assertProblem, type Request } from '../client.ts'
import { stopClock } from '../clock.ts'

stopClock({ mock })
after(() => mock.timers.reset())

const app = await startApp()
const limited = await startApp({ rateLimit: 1 })
const domains = '/api/v1/domains'
const reader = await app.createKey({ scopes: ['domains:read'] })
await app.send('POST', domains, { form: { name: 'taken.acme.com' } })

/** A key that has used up its one request a minute. */
const exhausted = await limited.createKey({ scopes: ['domains:read'] })
assert.equal((await limited.send('GET', domains, { key: exhausted })).status, 200)

const gzip = { 'content-type': 'text/plain', 'content-encoding': 'gzip' }
const large = Buffer.alloc(70_000, 'a')
const brokenForm = { form: 'name=%zz' }

test('400 for a malformed URL before 404 for an unknown route', async () => {
  assertProblem(await app.send('GET', '/nowhere/%zz', { key: null }), 400, 'malformed_url')
  assertProblem(await app.send('GET', '/nowhere?%zz', { key: null }), 400, 'malformed_url')
})

test('400 for a malformed URL before 405 and 401', async () => {
  assertProblem(await app.send('DELETE', `${domains}?a=%zz`, { key: null }), 400, 'malformed_url')
  assertProblem(await app.send('GET', `${domains}/%ff`, { key: null }), 400, 'malformed_url')
  assertProblem(await app.send('GET', `${domains}?search=%ff`, { key: 'wm_wrong' }), 400, 'malformed_url')
})

test('404 for an unknown route before 401', async () => {
  assertProblem(await app.send('GET', '/api/v1/nowhere', { key: null }), 404, 'route_not_found')
})

test('405 before 401', async () => {
  assertProblem(await app.send('DELETE', domains, { key: null }), 405, 'method_not_allowed')
})

test('405 before 415, 413 and 400', async () => {
  const request: Request = { body: large, headers: gzip }
  assertProblem(await app.send('PATCH', domains, request), 405, 'method_not_allowed')
})

test('401 before 429', async () => {
  assertProblem(await limited.send('POST', domains, { key: null }), 401, 'missing_api_key')
})

test('401 before 403 and all that follows', async () => {
  assertProblem(await app.send('POST', domains, { key: null, body: large, headers: gzip }), 401, 'missing_api_key')
  assertProblem(await app.send('GET', `${domains}/999`, { key: 'wm_wrong' }), 401, 'invalid_api_key')
  assertProblem(await app.send('GET', `${domains}?zzz=1`, { key: null }), 401, 'missing_api_key')
})

test('429 before 403', async () => {
  assertProblem(await limited.send('POST', domains, { key: exhausted }), 429, 'rate_limited')
})

test('429 before 415, 404 and 422', async () => {
  assertProblem(
    await limited.send('POST', domains, { key: exhausted, body: large, headers: gzip }),
    429,
    'rate_limited',
  )
  assertProblem(await limited.send('GET', `${domains}/999`, { key: exhausted }), 429, 'rate_limited')
  assertProblem(await limited.send('GET', `${domains}?zzz=1`, { key: exhausted }), 429, 'rate_limited')
})

test('403 before 415', async () => {
  const request: Request = { key: reader, body: 'x', headers: gzip }
  assertProblem(await app.send('POST', domains, request), 403, 'insufficient_scope')
})

test('403 before 413, 400, 404 and 422', async () => {
  assertProblem(await app.send('POST', domains, { key: reader, form: large.toString() }), 403, 'insufficient_scope')
  assertProblem(await app.send('POST', domains, { key: reader, ...brokenForm }), 403, 'insufficient_scope')
  assertProblem(await app.send('DELETE', `${domains}/999`, { key: reader }), 403, 'insufficient_scope')
  assertProblem(await app.send('POST', domains, { key: reader }), 403, 'insufficient_scope')
})

test('415 before 413', async () => {
  assertProblem(await app.send('POST', domains, { body: large, headers: gzip }), 415, 'unsupported_media_type')
})

test('413 before 400', async () => {
  assertProblem(await app.send('POST', domains, { form: `name=%zz${large}` }), 413, 'body_too_large')
})

test('415, 413 and 400 before 404', async () => {
  for (const method of ['PUT', 'PATCH']) {
    const path = `${domains}/999`
    assertProblem(await app.send(method, path, { body: 'x', headers: gzip }), 415, 'unsupported_media_type')
    assertProblem(await app.send(method, path, { form: large.toString() }), 413, 'body_too_large')
    assertProblem(await app.send(method, path, brokenForm), 400, 'malformed_body')
  }
})

test('404 before 422', async () => {
  for (const method of ['PUT', 'PATCH']) {
    for (const resource of ['domains', 'spaces']) {
      assertProblem(
        await app.send(method, `/api/v1/${resource}/999`, { form: { zzz: '1', name: 'a_b' } }),
        404,
        'not_found',
      )
    }
  }
})

test('422 before 409', async () => {
  const form = { name: 'taken.acme.com', homepage_url: 'nonsense' }
  assertProblem(await app.send('POST', domains, { form }), 422, 'validation_failed')
  assertProblem(await app.send('POST', domains, { form: { name: form.name } }), 409, 'name_taken')
})

test('415, 413 and 400 of the body before 400 of a condition or an Idempotency-Key', async () => {
  const headers = { 'if-match': 'malformed', 'idempotency-key': 'not one' }
  for (const [method, path] of [
    ['PATCH', `${domains}/1`],
    ['POST', domains],
  ] as const) {
    const unknown = { body: 'x', headers: { ...headers, ...gzip } }
    assertProblem(await app.send(method, path, unknown), 415, 'unsupported_media_type')
    assertProblem(await app.send(method, path, { form: large.toString(), headers }), 413, 'body_too_large')
    assertProblem(await app.send(method, path, { ...brokenForm, headers }), 400, 'malformed_body')
  }
})

test('400 of a condition before 404, 400 of an Idempotency-Key before 422', async () => {
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
    const request = { headers: { 'if-match': 'malformed' } }
    assertProblem(await app.send(method, `${domains}/999`, request), 400, 'malformed_request')
  }
  const request = { form: { zzz: '1' }, headers: { 'idempotency-key': 'not one' } }
  assertProblem(await app.send('POST', domains, request), 400, 'malformed_request')
})

test('401, 429 and 403 before 400 of a condition or an Idempotency-Key, before 412 and 304', async () => {
  for (const value of ['malformed', '"x"']) {
    const headers = { 'if-match': value, 'if-none-match': value, 'idempotency-key': 'not one' }
    assertProblem(await app.send('GET', `${domains}/1`, { key: null, headers }), 401, 'missing_api_key')
    assertProblem(await app.send('DELETE', `${domains}/1`, { key: reader, headers }), 403, 'insufficient_scope')
    assertProblem(await app.send('POST', domains, { key: reader, headers }), 403, 'insufficient_scope')
    assertProblem(await limited.send('GET', `${domains}/1`, { key: exhausted, headers }), 429, 'rate_limited')
  }
})

test('404 before 412, 412 before 422', async () => {
  const request = { form: { zzz: '1' }, headers: { 'if-match': '"x"' } }
  assertProblem(await app.send('PATCH', `${domains}/999`, request), 404, 'not_found')
  assertProblem(await app.send('PATCH', `${domains}/1`, request), 412, 'precondition_failed')
})

test('422 of the fields before 422 of the Idempotency-Key, and that before 409', async () => {
  const headers = { 'idempotency-key': 'precedence' }
  assert.equal((await app.send('POST', domains, { form: { name: 'first.acme.com' }, headers })).status, 201)
  const bad = { name: 'taken.acme.com', homepage_url: 'nonsense' }
  assertProblem(await app.send('POST', domains, { form: bad, headers }), 422, 'validation_failed')
  const taken = { name: 'taken.acme.com' }
  assertProblem(await app.send('POST', domains, { form: taken, headers }), 422, 'idempotency_key_reused')
})
