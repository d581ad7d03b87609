/** Keys and scopes, on every operation. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startApp } from '../../test/app.ts'
import type { Answer, Request } from '../../test/client.ts'
import { scopes as everyScope, type Scope } from '../keys/scope.ts'

const app = await startApp()

interface Call {
  readonly method: string
  readonly path: string
  readonly scope: Scope
  readonly request: Request
}

const calls: Call[] = (['domains', 'spaces'] as const).flatMap((resource) => {
  const path = `/api/v1/${resource}`
  const read = { scope: `${resource}:read`, request: {} } as const
  const write = { scope: `${resource}:write`, request: {} } as const
  return [
    { method: 'GET', path, ...read },
    { method: 'HEAD', path, ...read },
    { method: 'GET', path: `${path}/1`, ...read },
    { method: 'HEAD', path: `${path}/1`, ...read },
    { method: 'POST', path, ...write },
    { method: 'PUT', path: `${path}/1`, ...write },
    { method: 'PATCH', path: `${path}/1`, ...write },
    { method: 'DELETE', path: `${path}/1`, ...write },
  ]
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
await app.revokeKey(revoked.key.id)
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

for (const { method, path } of calls) {
  describe(`${method} ${path}`, () => {
    test('401 missing_api_key without a key', async () => {
      assertUnauthorised(await app.send(method, path, { key: null }), 'missing_api_key')
    })

    test('401 invalid_api_key for a malformed or unknown key', async () => {
      for (const key of [malformed[1] as string, mistyped(wellFormed, 51), unknown]) {
        assertUnauthorised(await app.send(method, path, { key }), 'invalid_api_key')
      }
    })

    test('401 expired_api_key', async () => {
      assertUnauthorised(await app.send(method, path, { key: expired }), 'expired_api_key')
    })

    test('401 revoked_api_key', async () => {
      assertUnauthorised(await app.send(method, path, { key: revoked.secret }), 'revoked_api_key')
    })
  })
}

for (const key of malformed) {
  test(`401 invalid_api_key for ${key.length} characters, such as ${key.slice(0, 12)}`, async () => {
    assertUnauthorised(await app.send('GET', '/api/v1/domains', { key }), 'invalid_api_key')
  })
}

for (const authorization of ['Basic d206d20=', 'Digest x', 'wm_x', wellFormed, 'Token token=x', 'Bearerx y', '']) {
  test(`401 missing_api_key for another scheme: ${authorization.slice(0, 12)}`, async () => {
    const answer = await app.send('GET', '/api/v1/domains', { key: null, headers: { authorization } })
    assertUnauthorised(answer, 'missing_api_key')
  })
}

for (const authorization of ['Bearer', 'Bearer ', 'Bearer a b', `Bearer ${wellFormed} x`, `Bearer ${wellFormed},`]) {
  test(`401 invalid_api_key for ${JSON.stringify(authorization.replace(wellFormed, '<key>'))}`, async () => {
    const answer = await app.send('GET', '/api/v1/domains', { key: null, headers: { authorization } })
    assertUnauthorised(answer, 'invalid_api_key')
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

for (const granted of everyScope) {
  describe(`a key with the scope ${granted}`, () => {
    for (const { method, path, scope } of calls) {
      const isAllowed = granted === '*' || granted === scope
      test(`${isAllowed ? 'not ' : ''}403 for ${method} ${path}`, async () => {
        const key = await app.createKey({ scopes: [granted] })
        const { status, headers, body } = await app.send(method, path, { key })
        assert.equal(status === 403, !isAllowed)
        if (isAllowed) return assert.notEqual(status, 401)
        assert.equal(headers['www-authenticate'], `Bearer realm="api", error="insufficient_scope", scope="${scope}"`)
        if (method === 'HEAD') return
        assert.equal(body.code, 'insufficient_scope')
        assert.match(body.detail, new RegExp(scope))
      })
    }
  })
}

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
