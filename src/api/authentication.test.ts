/** Keys on every operation. `test/key-scopes.test.ts` has their scopes. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Answer } from '../../test/client.ts'
import { operations } from '../app/operations.ts'
import { apiPrefix } from './operations.ts'

// More requests fail than a client address may send in a minute.
const app = await startApp({ rateLimit: 0 })

/** Every operation of the API. */
const calls = operations.flatMap(({ method, path }) => {
  const methods = method === 'GET' ? ['GET', 'HEAD'] : [method]
  return methods.map((each) => ({ method: each, path: apiPrefix + path.replace(':id', '1') }))
})

function assertUnauthorised({ status, headers, body, text }: Answer, code: string): void {
  assert.equal(status, 401, text)
  const challenge = code === 'missing_api_key' ? 'Bearer realm="api"' : 'Bearer realm="api", error="invalid_token"'
  assert.equal(headers['www-authenticate'], challenge)
  if (body === undefined) return
  assert.equal(body.code, code)
  assert.equal(body.message, 'Unauthenticated.')
}

const wellFormed = await app.createKey()
const expired = await app.createKey({ expiresAt: new Date(Date.now() - 1) })
const revoked = await app.issueKey()
await app.revokeKey(revoked.key)
const unknown = await (await startApp()).createKey()

/** The same key with its character at `index` replaced by another of the alphabet. */
function mistyped(key: string, index: number): string {
  return `${key.slice(0, index)}${key[index] === 'x' ? 'y' : 'x'}${key.slice(index + 1)}`
}

const malformed = [
  ...['wm_', 'wm_short', 'x', `${wellFormed}x`, wellFormed.slice(0, -1), wellFormed.slice(3), wellFormed.toUpperCase()],
  ...[`wm-${wellFormed.slice(3)}`, `${wellFormed.slice(0, 20)}.${wellFormed.slice(21)}`, mistyped(wellFormed, 10)],
  ...[mistyped(wellFormed, 51), mistyped(wellFormed, 46), `"${wellFormed}"`, `wm_${'0'.repeat(49)}`, 'a'.repeat(4000)],
]

for (const [code, keys] of [
  ['missing_api_key', [null]],
  ['invalid_api_key', [malformed[1] as string, mistyped(wellFormed, 51), unknown]],
  ['expired_api_key', [expired]],
  ['revoked_api_key', [revoked.secret]],
] as const) {
  test(`401 ${code} for every operation`, async () => {
    for (const { method, path } of calls) {
      for (const key of keys) assertUnauthorised(await app.send(method, path, { key }), code)
    }
  })
}

test('401 invalid_api_key for a malformed key', async () => {
  for (const key of malformed) {
    assertUnauthorised(await app.send('GET', '/api/v1/domains', { key }), 'invalid_api_key')
  }
})

for (const [code, values] of Object.entries({
  missing_api_key: ['Basic d206d20=', 'Digest x', 'wm_x', wellFormed, 'Token token=x', 'Bearerx y', ''],
  invalid_api_key: ['Bearer', 'Bearer ', 'Bearer a b', `Bearer ${wellFormed} x`, `Bearer ${wellFormed},`],
})) {
  test(`401 ${code} for another value of the Authorization header`, async () => {
    for (const authorization of values) {
      const answer = await app.send('GET', '/api/v1/domains', { key: null, headers: { authorization } })
      assertUnauthorised(answer, code)
    }
  })
}

test('200 whatever the case of the scheme', async () => {
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR']) {
    const headers = { authorization: `${scheme} ${wellFormed}` }
    assert.equal((await app.send('GET', '/api/v1/domains', { key: null, headers })).status, 200)
  }
})

test('401 for a key outside the Authorization header', async () => {
  for (const name of ['api_key', 'key', 'access_token', 'token', 'Authorization']) {
    const query = `/api/v1/domains?${name}=${wellFormed}`
    assertUnauthorised(await app.send('GET', query, { key: null }), 'missing_api_key')
    const form = { name: 'x', [name]: wellFormed }
    assertUnauthorised(await app.send('POST', '/api/v1/spaces', { key: null, form }), 'missing_api_key')
    const headers = {
      cookie: `${name}=${wellFormed}`,
      'x-api-key': wellFormed,
      'proxy-authorization': `Bearer ${wellFormed}`,
    }
    assertUnauthorised(await app.send('GET', '/api/v1/domains', { key: null, headers }), 'missing_api_key')
  }
})

test('401 contains no key, and is the same for an existing and an unknown record', async () => {
  const seen = await app.send('GET', '/api/v1/domains/1', { key: unknown })
  assert.ok(!seen.text.includes(unknown.slice(3)))
  const unseen = await app.send('GET', '/api/v1/domains/999', { key: unknown })
  assert.deepEqual({ ...seen.body, request_id: '' }, { ...unseen.body, request_id: '' })
})

test('200 for each operation that one of several scopes allows, 403 for the others', async () => {
  const key = await app.createKey({ scopes: ['domains:read', 'spaces:write'] })
  assert.equal((await app.send('GET', '/api/v1/domains', { key })).status, 200)
  assert.equal((await app.send('POST', '/api/v1/spaces', { key, form: { name: 'x' } })).status, 201)
  assert.equal((await app.send('POST', '/api/v1/domains', { key })).status, 403)
  assert.equal((await app.send('GET', '/api/v1/spaces', { key })).status, 403)
})

test('401 expired_api_key at the moment a key in use expires', async () => {
  const expiresAt = new Date(Date.now() + 400)
  const key = await app.createKey({ expiresAt })
  let answer = await app.send('GET', '/api/v1/domains', { key })
  assert.equal(answer.status, 200)
  while (answer.status === 200) {
    assert.ok(Date.now() < expiresAt.getTime() + 1_000, 'the key works long after its expiry')
    answer = await app.send('GET', '/api/v1/domains', { key })
  }
  assert.ok(Date.now() >= expiresAt.getTime())
  assertUnauthorised(answer, 'expired_api_key')
})
